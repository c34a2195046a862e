"""Names that Python and NumPy have dropped: put back, recorded, and taken away again."""

# ruff: noqa: NPY001, NPY201

import array
import asyncio
import collections
import importlib
import inspect
import io
import json
import math
import operator
import pkgutil
import sys
import time
import unittest
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from modkit.compat.python2 import explanation, findings
from modkit.compat.shims import Shims
from modkit.compat.shims.modules import imp
from modkit.compat.shims.modules.distutils import dir_util, spawn, util
from modkit.compat.shims.modules.distutils.version import LooseVersion, StrictVersion
from modkit.compat.shims.shims import _spelling
from modkit.compat.shims.tables import KEYWORDS, MODULES, NAMES


@pytest.fixture
def shims():
    made = Shims()
    made.install()
    yield made
    made.remove()


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("module", NAMES)
def test_names_of_modules_exist(shims, module):
    holder = importlib.import_module(module)
    for name in NAMES[module]:
        assert operator.attrgetter(name)(holder) is not None
        if "." not in name:
            exec(f"from {module} import {name}")


@pytest.mark.parametrize("module", KEYWORDS)
def test_keywords_have_their_new_names(shims, module):
    for path, renamed in KEYWORDS[module].items():
        function = inspect.unwrap(operator.attrgetter(path)(importlib.import_module(module)))
        known = inspect.signature(function).parameters
        for old, new in renamed.items():
            assert new == "" or {old, new, "kwargs"} & known.keys(), (module, path)


def test_replacements_of_modules_exist():
    for path in MODULES.values():
        assert pkgutil.resolve_name(path).__name__ == path
        assert "modkit" not in _spelling(path), "no modern spelling"


def opened(path, mode):
    with open(path, mode) as file:  # noqa: PTH123 - `open` is what is tested
        return file.read(3)


def png():
    file = io.BytesIO()
    Image.new("L", (1, 1)).save(file, "png")
    return file.getvalue()


JPEG = b"\xff\xd8\xff\xe1\x08\x04Exif" + bytes(32)
START = io.BytesIO(JPEG)


def counts(**keywords):
    pyplot = importlib.import_module("matplotlib.pyplot")
    assert (pyplot.hist([1, 2], **keywords)[0] == pyplot.gca().hist([1, 2], **keywords)[0]).all()
    return pyplot.hist([1, 1, 2], bins=2, **keywords)[0]


OLD = [
    # what is computed, its value
    (lambda: np.asscalar(np.array([2.5])), 2.5),
    (lambda: np.alen([1, 2, 3]), 3),
    (lambda: np.asfarray([1, 2]).dtype, np.float64),
    (lambda: np.cast["int32"]([1.7]).dtype, np.int32),
    (lambda: np.find_common_type([np.float32], [np.int64]), np.float64),
    (lambda: np.msort([[3, 1], [2, 4]])[0, 0], 2),
    (lambda: np.float is float and np.object is object and np.int is int, True),
    (lambda: (np.Inf, np.NINF, np.PZERO), (math.inf, -math.inf, 0.0)),
    (lambda: np.array([1, 2], "int16").tostring(), b"\x01\x00\x02\x00"),
    (lambda: np.float32(1).tostring(), b"\x00\x00\x80?"),
    (lambda: np.array([1, 5, 3]).ptp(), 4),
    (lambda: np.array([1], ">i2").newbyteorder()[0], 256),
    (lambda: list(np.fromstring(b"\x01\x02", dtype=np.uint8)), [1, 2]),
    (lambda: list(np.fromstring("\x01\x02", np.uint8)), [1, 2]),
    (lambda: list(np.fromstring("1 2", sep=" ")), [1, 2]),
    (lambda: np.array([[1], [2, 3]])[1], [2, 3]),
    (lambda: np.save(io.BytesIO(), [np.ones(1), np.ones(2)]), None),
    (lambda: np.array([1], copy=False, dtype="float32")[0], 1),
    (lambda: repr(np.float32(2.5)), "2.5"),
    (lambda: importlib.import_module("fractions").gcd(4, 6), 2),
    (lambda: importlib.import_module("inspect").getargspec(lambda a, b=1: a).args, ["a", "b"]),
    (lambda: len(importlib.import_module("platform").dist()), 3),
    (lambda: Image.ANTIALIAS, Image.Resampling.LANCZOS),
    (lambda: list(np.lib.pad([1], 1, "constant")), [0, 1, 0]),
    (lambda: np.VisibleDeprecationWarning, np.exceptions.VisibleDeprecationWarning),
    (lambda: array.array("b", b"a").tostring(), b"a"),
    (lambda: json.loads("[1]", encoding="utf-8"), [1]),
    (lambda: json.load(io.StringIO("[2]"), encoding="utf-8"), [2]),
    (lambda: importlib.import_module("configparser").SafeConfigParser().readfp(["[a]"]), None),
    (lambda: importlib.import_module("locale").format("%d", 3), "3"),
    (lambda: opened(__file__, "U") + opened(__file__, "rU"), '"""' * 2),
    (lambda: opened(__file__, "rUb"), b'"""'),
    (lambda: asyncio.run(asyncio.coroutine(lambda: (yield from asyncio.sleep(0, 3)))()), 3),
    (lambda: asyncio.run(asyncio.coroutine(lambda: 4)()), 4),
    (lambda: unittest.TestCase().assertEquals(1, 1), None),
    (lambda: unittest.TestCase().assertItemsEqual([1, 2], [2, 1]), None),
    (lambda: np.reshape([1, 2], newshape=(2, 1)).shape, (2, 1)),
    (lambda: list(np.histogram([1, 3], bins=2, normed=True)[0]), [0.5, 0.5]),
    (lambda: np.percentile([1, 2], 50, interpolation="lower"), 1),
    (lambda: list(counts(normed=True)), [4 / 3, 2 / 3]),
    (lambda: importlib.import_module("matplotlib").use("Agg", warn=False), None),
    (lambda: [each.tag for each in ET.fromstring("<a><b/></a>").getchildren()], ["b"]),
    (lambda: importlib.import_module("imghdr").what(None, png()), "png"),
    (lambda: importlib.import_module("imghdr").what(None, b"text" * 20), None),
    (lambda: importlib.import_module("imghdr").what(None, JPEG), "jpeg"),
    (lambda: (importlib.import_module("imghdr").what(START), START.tell()), ("jpeg", 0)),
    (lambda: importlib.import_module("cgi").escape('"<"'), '"&lt;"'),
    (lambda: importlib.import_module("scipy").ones(2).tolist(), [1, 1]),
    (lambda: importlib.import_module("scipy").sqrt(-1), 1j),
    (lambda: importlib.import_module("scipy.misc").imrotate(np.eye(2), 90)[0, 0], 0),
    (lambda: ImageDraw.Draw(Image.new("L", (9, 9))).textsize("a") > (0, 0), True),
    (lambda: ImageFont.load_default().getsize("a") > (0, 0), True),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("row", range(len(OLD)))
def test_old_calls(shims, row):
    call, value = OLD[row]
    assert call() == value


def test_elements_are_set_by_itemset(shims):
    a = np.zeros((2, 2))
    a.itemset(1, 5)
    a.itemset((1, 0), 6)
    a.itemset(1, 1, 7)
    assert a.tolist() == [[0, 5], [6, 7]]


def test_errors_that_have_other_causes_stay(shims):
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1], [2, 3]], dtype=float)
    with pytest.raises(AttributeError, match="has no attribute 'clokc'"):
        _ = time.clokc
    with pytest.raises(AttributeError):
        _ = np.no_such_name
    with pytest.raises(TypeError, match="normed"):
        np.histogram([1], normed=False, density=True)


def test_warnings_of_numpy_name_the_line_of_the_program(shims):
    with pytest.warns(np.exceptions.ComplexWarning) as seen:
        np.array(np.zeros(2, "complex64"), dtype="float32")
    assert [each.filename for each in seen] == [__file__]


def test_uses_are_recorded_once_with_their_place(shims):
    for _ in range(3):
        assert collections.Mapping and time.clock() >= 0
    assert list(shims.used) == ["collections.Mapping", "time.clock"]
    new, place = shims.used["time.clock"]
    assert new == "time.process_time" and place.startswith(__file__)
    assert "time.clock           now time.process_time" in shims.report()


def test_nothing_remains():
    shims = Shims()
    shims.install()
    shims.remove()
    assert shims.report() == ""
    assert not any(hasattr(np, n) for n in ("float", "asscalar", "Inf"))
    assert not hasattr(time, "clock") and not hasattr(np.zeros(1), "itemset")
    assert repr(np.float32(1)) == "np.float32(1.0)"
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1], [2, 3]])


def test_a_module_that_is_imported_later_has_its_names(shims, monkeypatch):
    monkeypatch.delitem(sys.modules, "configparser", raising=False)
    module = importlib.import_module("configparser")
    assert "__getattr__" in vars(module) and hasattr(module.RawConfigParser, "readfp")


def test_missing_modules_are_found(shims, monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn.externals.joblib", raising=False)
    found = importlib.import_module("sklearn.externals.joblib")
    assert found is importlib.import_module("joblib")
    assert found.__spec__.name == "joblib"
    assert shims.used["sklearn.externals.joblib"][0] == "joblib"


# ── Modules that Python 3.12 lacks ──────────────────────────────────────────────────────────


def test_modules_are_loaded_from_paths(tmp_path):
    (tmp_path / "there.py").write_text("x = 3")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("y = 4")
    assert imp.load_source("loaded_by_imp", str(tmp_path / "there.py")).x == 3
    for name, attribute in (("there", "x"), ("pack", "y")):
        found = imp.find_module(name, [str(tmp_path)])
        assert getattr(imp.load_module(f"again_{name}", *found), attribute) in (3, 4)
        if found[0]:
            found[0].close()
    with pytest.raises(ImportError, match="nowhere"):
        imp.find_module("nowhere", [str(tmp_path)])
    assert imp.new_module("m").__name__ == "m"


def test_versions_compare_by_number():
    assert LooseVersion("1.10") > LooseVersion("1.9.1") >= "1.9.1"
    assert LooseVersion("1.5.0post1").version == [1, 5, 0, "post", 1]
    assert StrictVersion("1.2") == StrictVersion("1.2.0") > StrictVersion("1.2b1")
    with pytest.raises(ValueError, match="invalid version number"):
        StrictVersion("1.2.x")


def test_other_parts_of_distutils(tmp_path):
    assert (util.strtobool("Yes"), util.strtobool("off")) == (1, 0)
    with pytest.raises(ValueError, match="maybe"):
        util.strtobool("maybe")
    assert spawn.find_executable("no such program") is None
    made = dir_util.mkpath(str(tmp_path / "a" / "b"))
    assert len(made) == 2
    (tmp_path / "a" / "b" / "f").write_text("x")
    assert dir_util.copy_tree(str(tmp_path / "a"), str(tmp_path / "c")) == [
        str(tmp_path / "c" / "b" / "f")
    ]
    dir_util.remove_tree(str(tmp_path / "c"))
    assert not (tmp_path / "c").exists()


def test_pictures_of_scipy_misc(tmp_path):
    from modkit.compat.shims import pictures

    ramp = np.linspace(0, 1, 12).reshape(3, 4)
    pictures.imsave(tmp_path / "ramp.png", ramp)
    read = pictures.imread(tmp_path / "ramp.png")
    assert read.dtype == np.uint8 and (read.min(), read.max()) == (0, 255)
    assert pictures.imresize(read, (6, 8)).shape == (6, 8)
    assert pictures.imresize(read, 200).shape == (6, 8)
    assert pictures.imresize(np.zeros((3, 4, 3), np.uint8), 0.5).shape == (1, 2, 3)
    assert pictures.imread(tmp_path / "ramp.png", mode="RGB").shape == (3, 4, 3)


# ── Python 2 ────────────────────────────────────────────────────────────────────────────────

PYTHON_2 = [
    ("print 'a', b", "print('a', b)"),
    ("if x: print x,", "if x: print(x, end=' ')"),
    ("print >>sys.stderr, 'a'", "print('a', file=sys.stderr)"),
    ("except (A, B), e:", "except (A, B) as e:"),
    ("raise ValueError, 'no'", "raise ValueError('no')"),
    ("exec code in space", "exec(code)"),
    ("s = `x` + 0755", "s = repr(x) + 0o755"),
    ("if n <> 10L:", "if n != 10:"),
    ("f = lambda (a, b): g(a)", "f = lambda pair: g(a)  # pair[0], pair[1] for a, b"),
    ("def f(self, (a, b)):", "def f(self, pair):  # then a, b = pair"),
]


@pytest.mark.parametrize(("line", "change"), PYTHON_2)
def test_python_2_is_found(line, change):
    assert [(f.line, f.change) for f in findings(f"x = 1\n{line}\n")] == [(2, change)]


@pytest.mark.parametrize(
    "line",
    ["print(x)", "x = 0.05 + 10", "s = '<>'", "except ValueError as e:", "raise A(b)", "# print x",
     '"""\nprint the sum\n"""', "exec(code)"],
)  # fmt: skip
def test_python_3_is_not(line):
    assert findings(line) == []


FAILS = [
    # what fails, a word of the change
    ("xrange(3)", "in Python 3: range"),
    ("import cPickle", "in Python 3: pickle"),
    ("from itertools import izip", "in Python 3: zip"),
    ("{}.iteritems()", "in Python 3: items"),
    ("map(str, [1])[0]", "list(map(...))"),
    ("len(zip([1], [2]))", "list(map(...))"),
    ("{}.keys().sort()", "list(map(...))"),
    ("np.mean(map(int, '1'))", "list(map(...))"),
    ("float({}.values())", "list(map(...))"),
    ("range(2) + [1]", "list(range(n))"),
    ("x = range(2); x[0] = 1", "list(range(n))"),
    ("range(4 / 2)", "a // b"),
    ("[1, 2][2 / 2]", "a // b"),
    ("np.zeros(3)[4 / 4]", "a // b"),
    ("np.zeros(3)[: 4 / 2]", "a // b"),
    ("np.zeros(4 / 2)", "a // b"),
    ("sorted([1, None])", "values of any types"),
    ("sorted([2, 1], cmp=lambda a, b: a - b)", "cmp_to_key"),
    ("'a'.decode('utf-8')", "leave decode out"),
    ("b'a'.split('a')", "open(path, 'w')"),
    (r"import pickle; pickle.loads(b'\x80\x02U\x01\xffq\x00.')", "encoding='latin1'"),
    ("f = io.BytesIO(); np.save(f, [None]); f.seek(0); np.load(f)", "allow_pickle=True"),
    ("'%f' % np.array([[4.0]])", "a.item()"),
    ("'%d' % np.array([[4]])", "a.item()"),
    ("np.array([1], 'uint8') + 300", ".astype(type)"),
    ("print('%d') % 3", "print('%d' % n)"),
    ("import distutils.nothing", "setuptools<81"),
    ("weight", ""),
    ("int('x')", ""),
    ("io.apply", ""),
    ("Image.open", ""),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
@pytest.mark.parametrize(("code", "words"), FAILS)
def test_errors_of_old_programs_are_explained(code, words):
    if "% np.array([[" in code and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("NumPy warns of it, and computes")
    with pytest.raises(Exception) as caught:
        exec(code, {"np": np, "io": io})
    assert words in explanation(caught.value)
    assert bool(words) == bool(explanation(caught.value))


def test_tabs_are_explained(tmp_path):
    (tmp_path / "t.py").write_text("if 1:\n        x = 1\n\ty = 2\n")
    with pytest.raises(SyntaxError) as caught:
        compile((tmp_path / "t.py").read_text(), str(tmp_path / "t.py"), "exec")
    assert "tabs and spaces are mixed" in explanation(caught.value)
