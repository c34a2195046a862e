"""Word vectors from text files, by token."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from modkit import registry
from modkit.contrib.text.vocab import Vocabulary
from modkit.errors import (
    FileFormatError,
    MissingFileError,
    ParameterError,
    check_known,
    expect,
    warn_caller,
)
from modkit.files import text_lines
from modkit.ndarray import NDArray, array, zeros
from modkit.ndarray.ndarray import require_array

Vector = Callable[..., NDArray]


class VectorFileError(FileFormatError, AssertionError):
    """A file of word vectors that cannot be read, which MXNet answers with an AssertionError."""


class _TokenEmbedding(Vocabulary):
    """A vocabulary with a vector for each token.

    Attributes:
        idx_to_vec: (number of tokens, vec_len), an NDArray.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._idx_to_vec: NDArray | None = None

    @property
    def vec_len(self) -> int:
        """Length of a vector; 0 where none have been loaded."""
        return 0 if self._idx_to_vec is None else self._idx_to_vec.shape[1]

    @property
    def idx_to_vec(self) -> NDArray | None:
        """The vectors by index."""
        return self._idx_to_vec

    def _index(self, vocabulary: Vocabulary) -> None:
        """Take the tokens of another vocabulary."""
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._token_to_idx = dict(vocabulary.token_to_idx)

    def _load_embedding(
        self,
        pretrained_file_path: str | Path,
        elem_delim: str,
        init_unknown_vec: Vector,
        encoding: str = "utf8",
    ) -> None:
        """Add the tokens of a file with their vectors: see `CustomEmbedding`.

        Raises:
            ParameterError: there is no such file.
            VectorFileError: a line has no numbers, or more or fewer than the lines before.
        """
        path = Path(pretrained_file_path).expanduser()
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        try:
            vectors, unknown = self._read(path, _lines(path, elem_delim, encoding))
        except MissingFileError as error:
            name = type(self).__name__
            raise ParameterError(f"{name}: pretrained_file_path: {error}") from error
        found = unknown or next(iter(vectors.values()), None)
        if found is None:
            raise VectorFileError(f"{path}: there is no vector of two or more numbers")
        row = unknown or init_unknown_vec(shape=len(found)).asnumpy()
        self._idx_to_token += [t for t in vectors if t not in self._token_to_idx]
        self._token_to_idx = {t: i for i, t in enumerate(self._idx_to_token)}
        rows = [vectors.get(token, row) for token in self._idx_to_token]
        rows[0] = row
        self._idx_to_vec = array(np.asarray(rows, np.float32))

    def _read(
        self, path: Path, lines: Iterable[tuple[int, str, list[float]]]
    ) -> tuple[dict[str, list[float]], list[float] | None]:
        """The vectors of a file by token, and that of unknown tokens; its first error is raised."""
        vectors: dict[str, list[float]] = {}
        unknown: list[float] | None = None
        length = self.vec_len
        for number, token, values in lines:
            length = length or len(values)
            if len(values) != length:
                raise VectorFileError(
                    f"{path}: line {number}: got {len(values)} numbers for {token!r}, expected "
                    f"{length} as before"
                )
            if token == self._unknown_token and unknown is None:
                unknown = values
            elif token in vectors or token == self._unknown_token:
                warn_caller(f"{path}: line {number}: {token!r} again: skipped")
            else:
                vectors[token] = values
        return vectors, unknown

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Replace the tokens by those of a `Vocabulary`, if given; else ParameterError."""
        if vocabulary is None:
            return
        self._check_vocabulary(vocabulary)
        self._idx_to_vec = array(self._rows_for(vocabulary))
        self._index(vocabulary)

    def _check_vocabulary(self, vocabulary: Any) -> None:
        where = f"{type(self).__name__}: vocabulary"
        expect(isinstance(vocabulary, Vocabulary), where, type(vocabulary), "a Vocabulary")

    def _rows_for(self, vocabulary: Vocabulary) -> np.ndarray:
        """Vectors of a vocabulary's tokens; token 0 gets the vector of unknown tokens."""
        vectors = self._vectors().asnumpy()
        rows = vectors[[self._token_to_idx.get(token, 0) for token in vocabulary.idx_to_token]]
        rows[0] = vectors[0]
        return rows

    def get_vecs_by_tokens(
        self, tokens: str | Sequence[str], lower_case_backup: bool = False
    ) -> NDArray:
        """Vectors of tokens: (vec_len,) for one, (number, vec_len) for a list.

        Args:
            tokens: a token or a list of them; unknown ones have the vector of index 0.
            lower_case_backup: look unknown tokens up in lower case.
        """
        many = [tokens] if isinstance(tokens, str) else list(tokens)
        known = self._token_to_idx
        if lower_case_backup:
            many = [t if t in known else t.lower() for t in many]
        indices = [known.get(t, 0) for t in many]
        rows = self._vectors()[np.asarray(indices, np.int32)]
        return rows[0] if isinstance(tokens, str) else rows

    def update_token_vectors(self, tokens: str | Sequence[str], new_vectors: NDArray) -> None:
        """Replace the vectors of tokens.

        Args:
            tokens: a token or a list of them.
            new_vectors: (number, vec_len), or (vec_len,) for one.

        Raises:
            ParameterError: a token is unknown, or the vectors are no array of a shape that fits.
        """
        many = [tokens] if isinstance(tokens, str) else list(tokens)
        unknown = [t for t in many if t not in self._token_to_idx]
        if unknown:
            raise ParameterError(
                f"update_token_vectors: {unknown[0]!r} is unknown; the vector of unknown tokens is "
                f"that of {self._unknown_token!r}"
            )
        require_array("update_token_vectors", new_vectors)
        rows = new_vectors.reshape((1, -1)) if new_vectors.ndim == 1 else new_vectors
        where, shape = "update_token_vectors: shape of new_vectors", (len(many), self.vec_len)
        expect(rows.shape == shape, where, new_vectors.shape, repr(shape))
        indices = [self._token_to_idx[t] for t in many]
        self._vectors()[np.asarray(indices, np.int32)] = rows

    def _vectors(self) -> NDArray:
        if self._idx_to_vec is None:
            raise ParameterError(f"{type(self).__name__}: no vectors have been loaded")
        return self._idx_to_vec


def _lines(path: Path, delimiter: str, encoding: str) -> Iterator[tuple[int, str, list[float]]]:
    """Line number, token and numbers; lines with a single number are skipped."""
    for number, line in text_lines(path, encoding):
        token, *rest = line.rstrip().split(delimiter)
        if len(rest) <= 1:
            if line.strip():
                warn_caller(f"{path}: line {number}: no vector: skipped")
            continue
        try:
            yield number, token, [float(each) for each in rest]
        except ValueError as error:
            raise VectorFileError(f"{path}: line {number}: {error}") from error


class _Pretrained(_TokenEmbedding):
    """Vectors from a published file, which must be there: nothing is downloaded."""

    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {}
    _folder: ClassVar[str]
    _files: ClassVar[tuple[str, ...]]
    _default: ClassVar[str]

    def __init__(
        self,
        pretrained_file_name: str | None = None,
        embedding_root: str = "~/.mxnet/embeddings",
        init_unknown_vec: Vector = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ):
        name = self._default if pretrained_file_name is None else pretrained_file_name
        check_known(f"{type(self).__name__}: no file", name, self._files)
        path = Path(embedding_root).expanduser() / self._folder / name
        if not path.exists():
            raise FileNotFoundError(
                f"{type(self).__name__}: {path} is missing: download it, and put it there"
            )
        super().__init__(**kwargs)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


class GloVe(_Pretrained):
    """Vectors of GloVe (Pennington, Socher and Manning, 2014).

    Args:
        pretrained_file_name: one of ``get_pretrained_file_names("glove")``; default
            ``"glove.840B.300d.txt"``.
        embedding_root: folder with the folder ``glove``.
        init_unknown_vec: makes the vector of unknown tokens from its shape.
        vocabulary: keep only its tokens; default all of the file.
        **kwargs: see `Vocabulary`.

    Differs: tokens of a ``counter`` and ``reserved_tokens`` that are in the file have its vectors.
    In MXNet 1.9.1 the vectors of the file's tokens then stand at the indices of other ones.
    """

    _folder = "glove"
    _default = "glove.840B.300d.txt"
    _files = (
        "glove.42B.300d.txt",
        "glove.6B.50d.txt", "glove.6B.100d.txt", "glove.6B.200d.txt", "glove.6B.300d.txt",
        "glove.840B.300d.txt",
        "glove.twitter.27B.25d.txt", "glove.twitter.27B.50d.txt", "glove.twitter.27B.100d.txt",
        "glove.twitter.27B.200d.txt",
    )  # fmt: skip


_LANGUAGES = """
    aa ab ace ady af ak als am an ang ar arc arz as ast av ay az azb ba bar bat_smg bcl be bg
    bh bi bjn bm bn bo bpy br bs bug bxr ca cbk_zam cdo ce ceb ch cho chr chy ckb co cr crh cs
    csb cu cv cy da de diq dsb dv dz ee el eml en eo es et eu ext fa ff fi fiu_vro fj fo fr
    frp frr fur fy ga gag gan gd gl glk gn gom got gu gv ha hak haw he hi hif ho hr hsb ht hu
    hy hz ia id ie ig ii ik ilo io is it iu ja jam jbo jv ka kaa kab kbd kg ki kj kk kl km kn
    ko koi kr krc ks ksh ku kv kw ky la lad lb lbe lez lg li lij lmo ln lo lrc lt ltg lv mai
    map_bms mdf mg mh mhr mi min mk ml mn mo mr mrj ms mt mus mwl my myv mzn na nah nap nds
    nds_nl ne new ng nl nn no nov nrm nso nv ny oc olo om or os pa pag pam pap pcd pdc pfl pi
    pih pl pms pnb pnt ps pt qu rm rmy rn ro roa_rup roa_tara ru rue rw sa sah sc scn sco sd
    se sg sh si simple sk sl sm sn so sq sr srn ss st stq su sv sw szl ta tcy te tet tg th ti
    tk tl tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo wa war wo wuu
    xal xh xmf yi yo za zea zh zh_classical zh_min_nan zh_yue zu
"""
_ALIGNED_LANGUAGES = """
    ar bg ca cs da de el en es et fi fr he hr hu id it mk nl no pl pt ro ru sk sl sv tr uk vi
"""


class FastText(_Pretrained):
    """Vectors of fastText (Bojanowski et al., 2017), from the folder ``fasttext``; see `GloVe`.

    The default of ``pretrained_file_name`` is ``"wiki.simple.vec"``.
    """

    _folder = "fasttext"
    _default = "wiki.simple.vec"
    _files = tuple(
        sorted(
            (
                "crawl-300d-2M.vec",
                "wiki-news-300d-1M.vec",
                "wiki-news-300d-1M-subword.vec",
                *[f"wiki.{code}.vec" for code in _LANGUAGES.split()],
                *[f"wiki.multi.{code}.vec" for code in _ALIGNED_LANGUAGES.split()],
            ),
            key=lambda name: re.sub(r"\W|_", "", name),  # MXNet's order
        )
    )


class CustomEmbedding(_TokenEmbedding):
    """Vectors from a file of lines ``token number number ...``.

    Args:
        elem_delim: between the parts of a line.
        init_unknown_vec, vocabulary, kwargs: see `GloVe`.

    Raises:
        ParameterError: there is no such file.
        VectorFileError: a line has no numbers, or more or fewer than the lines before.
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Vector = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The vectors of several embeddings in a row, for the tokens of a vocabulary.

    Args:
        token_embeddings: an embedding, or a list of them.
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any):
        super().__init__()
        self._check_vocabulary(vocabulary)
        where = "CompositeEmbedding: token_embeddings"
        many = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        if not many:
            raise ParameterError(f"{where}: got none, expected one")
        for each in many:
            is_one = isinstance(each, _TokenEmbedding)
            expect(is_one, where, type(each), "a token embedding or a list of them")
        joined = np.concatenate([each._rows_for(vocabulary) for each in many], axis=1)
        self._index(vocabulary)
        self._idx_to_vec = array(joined)


TokenEmbedding = _TokenEmbedding
register = registry.get_register_func(_TokenEmbedding, "token embedding")
create = registry.get_create_func(_TokenEmbedding, "token embedding")
for _class in (GloVe, FastText, CustomEmbedding):
    register(_class)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Names of published files: a list for one embedding, else all by registered embedding.

    Raises:
        NameNotFoundError: no such embedding.
    """
    known = {
        name: list(getattr(made, "_files", made.pretrained_file_name_sha1))
        for name, made in registry.get_registry(_TokenEmbedding).items()
        if hasattr(made, "pretrained_file_name_sha1")
    }
    if embedding_name is None:
        return known
    check_known("get_pretrained_file_names: no embedding", embedding_name, known)
    return known[embedding_name]
