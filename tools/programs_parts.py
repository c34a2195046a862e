"""Programs over what stands around a network, for `compare_programs.py`.

Iterators, record files, images, metrics, stores, optimizers, schedules, initializers, callbacks,
monitors, text, contexts, scopes and test helpers: a program has one or two of these themes.
"""
# ruff: noqa: E501, SIM905 - a line of a table is a line of a program

EXCUSED = [
    # line, difference, reason
    (r"NDArrayIter", r"last_batch_handle: got 'keep'", "a misspelled word; MXNet takes any"),
    (r"NDArrayIter", r"different numbers of samples", "rows without labels are a mistake"),
    (r"", r"NotReadyError: NDArrayIter: there is no present batch", "MXNet shows rows of no batch"),
    (r"", r"got \('csr'.*expected \('default'", "Differs: batches of csr arrays are csr"),
    (
        r"",
        r"expected AttributeError: '[\w.]+' object has no attribute",
        "an accident of MXNet's code",
    ),
    (
        r"asnumpy|update",
        r"only modkit runs: .*ndarray' object has no attribute '(asnumpy|as_in_context)'",
        "NumPy arrays do too",
    ),
    (r"update", r"only modkit runs: .*must have NDArray type", "NumPy arrays do too"),
    (r"^up\d+\(", r"expected AssertionError: Weight decay", "an error of our own"),
    (r"^up\d+\(", r"only modkit runs: .*elemwise_op_common", "optimizers of float16 weights"),
    (r"update\(labels=", r"only modkit runs", "names of the base class's arguments"),
    (r"create\(mx\.metric\.\w+\)", r"", "a class makes a metric; MXNet calls it with arrays"),
    (r"push", r"ShapeError: kvstore.push", "another shape than the key's; MXNet stores it"),
    (
        r"states|create_state",
        r"got float(64|16).*, expected float32",
        "states of the weights' type",
    ),
    (r"top_k|Hits|sum_metric|get", r"top_k_1d", "Differs: outputs of one axis are classes"),
    (r"global_sum_metric|sum_metric", r"got 0.0, expected nan", "no pair has been counted"),
    (r"encode_sentences", r"got \d+, expected \d+", "MXNet gives each unknown word a number"),
    (r"update", r"labels of shape .* do not fit", "PCC drops rows without a label in MXNet"),
    (r"update_multi_precision\(\[", r"only modkit runs", "lists for any optimizer"),
    (r"it\.", r"NotSupportedError: Image\w*Iter has no", "MXNet answers None"),
    (
        r"mx\.image",
        r"TypeError: \w+\(\) .*expected MXNetError",
        "an unknown keyword, a missing one",
    ),
    (r"LibSVMIter", r"is outside the shape", "Differs: an element beyond the shape"),
    (r"^called", r"expected ValueError: could not convert string", "a total that is no number"),
    (r"", r"^got \[\d\], expected \[\d, \d", "a layout without an N: it takes the axis -1"),
    (r"batch_size=0.5", r"expected 1 or more", "no size"),
    (
        r"set_np_shape|py_str|Context\('cpu', '1'\)",
        r"only modkit runs: (Type|Attribute)Error",
        "more types",
    ),
    (
        r"ImageIter",
        r"only modkit runs: AssertionError: uint8 label not supported",
        "images of uint8",
    ),
    (r"flag=0", r"got \d+ at .*, expected \d+", "Differs: grey values by 1"),
    (r"encode_sentences|use_np_shape", r"only modkit runs", "more types"),
    (r"BucketSentenceIter\(mx\.nd", r"only modkit runs: ValueError: setting an array", "an array"),
    (
        r"describe\(|provide_",
        r"got 'N\w+', expected 'NCHW'",
        "MXNet's PrefetchingIter forgets the layout of what it renames",
    ),
    (
        r"Monitor\(",
        r"only the reference runs: ParameterError: Monitor: stat_func",
        "refused at once",
    ),
    (r"to_tokens", r"got index -1|got \[?-1", "an index below 0; MXNet counts from the end"),
    (r"update", r"expected IndexError: too many indices", "outputs of one axis"),
    (r"get_config", r"'average', 'micro'", "create(config) makes the same metric"),
    (
        r"kv\.",
        r"'str' object cannot be interpreted as an integer|expected TypeError: an integer is required",
        "a priority that is no number",
    ),
    (
        r"next",
        r"got StopIteration: ; expected MXNetError: .*Invalid end for end",
        "fewer rows than a batch has, which roll over",
    ),
    (r"encoding=", r"expected ValueError: `pretrained_file_path`", "two mistakes"),
    (r"next_sample", r"only modkit runs", "MXNet's next ends the iterator with a padded batch"),
    (
        r"get_global|global_sum",
        r"got [\d.]+, expected 0.0",
        "Differs: micro averages have global values",
    ),
    (r"MNISTIter", r"only modkit runs: StopIteration", "fewer samples than a batch has"),
    (
        r"push",
        r"only modkit runs: .*(tuple.h|gradient_compr)",
        "MXNet reads uninitialized memory",
    ),
    (r"get", r"OverflowError: math range", "a perplexity that is infinite"),
    (r"Embedding", r"only modkit runs: .*Operator Embed", "a vocabulary of no known word"),
    (r"update", r"has no attribute 'context'", "NumPy arrays do too"),
    (r"getpad", r"got 0, expected None", "MXNet's ImageIter has none"),
    (r"ImageIter", r"ParameterError: \w+: part_index", "there is no such part"),
    (r"read_idx", r"got b.*, expected None", "MXNet reads nothing after the end was met"),
    (r" == ", r"only modkit runs: .*truth value", "initializers of arrays are compared"),
    (r"install", r"expected AttributeError", "no executor"),
    (r"", r"NotReadyError: \w+Iter: next", "MXNet shows uninitialized or earlier rows"),
    (r"groupadagrad", r"NotSupportedError: GroupAdaGrad: got wd", "refused at once"),
    (r"same\(", r"got True, expected False", "arrays of either kind"),
    (r"F1\(", r"only the reference runs: .*average: got", "refused at once, in MXNet later"),
    (r"batch_size=mx", r"only the reference runs: .*batch_size: got", "an array is no size"),
    (
        r"LARS\(",
        r"only the reference runs: ParameterError: LARS: \w+: got",
        "refused at once, in MXNet at the first update",
    ),
    (r"CSVIter", r"only the reference runs: .*expected an integer of int", "no whole numbers"),
    (r"check_call\(-1", r"expected IndexError", "MXNet's last error, where there was none"),
    (r"get_config", r"'axis', 1", "create(config) makes the same metric"),
    (
        r"kv\.init",
        r"only modkit runs: .*duplicate init",
        "a key that a refused call of MXNet made: its list has two arrays for one key",
    ),
    (r"Xavier", r"ParameterError: (rnd|factor)_type", "refused at once, in MXNet at the first use"),
    (r"attr=", r"got 1, expected a string", "numbers are no attributes; MXNet takes some"),
    (r"decode", r"only modkit runs: .*!dst.empty", "Pillow reads the rows of a file cut short"),
    (r"object\(\)", r"only the reference runs: ParameterError", "refused at once"),
    (r"logs", r"got '\[", "Differs: the bar counts the present batch"),
    (r"set_bulk_size", r"got \d+, expected \d+", "the default is 15; NaiveEngine has 0"),
    (
        r"test_utils",
        r"only modkit runs: .*(_contrib_allclose|'list' object has no|no attribute 'asnumpy')",
        "arrays of either kind, lists of rows",
    ),
    (r"almost_equal", r"expected MXNetError: .*_contrib_allclose", "shapes that broadcast"),
    (r"init", r"only modkit runs: .*Unknown initialization pattern", "Differs: more suffixes"),
    (r"aug", r"only modkit runs: .*elemwise_op_common", "images of whole numbers"),
    (r"create\(", r"expected KeyError: 'thing'", "an accident of MXNet's code"),
    (r"ignore_nan", r"expected TypeError: ufunc 'isnan'", "NDArrays do too"),
    (
        r"^up|\.update",
        r"only modkit runs: .*elemwise_op.*expected float(32|16), got float(64|32)",
        "AdaGrad and its like of float64 and float16 weights fail there",
    ),
    (r"^up|\.update", r"only modkit runs: .*exceed bound", "a constant outside of its bounds"),
    (r"sum_metric|get", r"expected -?2147483", "the logarithm of 0 as a whole number"),
    (
        r"mx\.image",
        r"TypeError: unsupported operand .*expected AssertionError",
        "an object for an image",
    ),
    (r"_get_lrs", r"got 1.0, expected 1$", "a rate is a number with a fraction"),
    (r"update", r"only modkit runs: .*Shape inconsistent, Provided", "outputs of more axes"),
    (r"monitor_all=|center_crop|install", r"only modkit runs: TypeError", "more types"),
    (r"imresize", r"TypeError: unhashable type", "a list for a number"),
    (
        r"PrefetchingIter",
        r"(no new name|rename_\w+: got \w+,) .*expected (TypeError|KeyError)",
        "a word or an object for dictionaries",
    ),
    (r"", r"ParameterError: .*: got (None|0|\[\]|'a'), expected ", "refused at once"),
    (r"layout=", r"only the reference runs: AttributeError", "refused at once"),
    (r"GroupAdaGrad", r"NotSupportedError: GroupAdaGrad: got wd", "refused at once"),
    (
        r"Bilinear|init",
        r"ShapeError: bilinear: .*expected IndexError",
        "an accident of MXNet's code",
    ),
    (r"LibSVMIter", r"only modkit runs: .*round_batch == false", "the last batch is padded"),
    (r"get_global", r"got nan, expected 0.0", "Differs: micro averages have global values"),
]

ENDS = [
    (r"", r"AdaGrad: .*row-sparse", "a refused update is counted in MXNet"),
    (r"", r"PrefetchingIter: iterator \d has fewer batches", "its threads have read on in MXNet"),
]

DTYPES = ("'float32'", "'float16'", "'float64'", "'int32'", "'uint8'", "'int64'")
WRONG = ("None", "'a'", "-1", "0", "[]", "0.5", "mx.nd.ones((2,))", "object()")
"""Values of an argument that most parameters refuse."""


def draw(random):
    """The lines of one program."""
    program = Program(random)
    for theme in random.sample(THEMES, random.choice((1, 1, 1, 2))):
        theme(program)
    return program.lines[:30]


def choices(table):
    """The lines of a table, each of which is a choice."""
    return [line.strip() for line in table.strip().splitlines()]


class Program:
    """Lines, and what draws their parts."""

    def __init__(self, random):
        """Keep the source of random choices."""
        self.random, self.lines, self.count = random, [], 0

    def add(self, *lines):
        """Append lines."""
        self.lines += lines

    def pick(self, *choices):
        """One of the choices."""
        return self.random.choice(choices)

    def chance(self, probability):
        """True with a probability."""
        return self.random.random() < probability

    def new(self, value, prefix="x"):
        """Assign an expression to a new name, which is returned."""
        self.count += 1
        name = f"{prefix}{self.count}"
        self.add(f"{name} = {value}")
        return name

    def some(self, low, high, *choices):
        """Append a few of the choices, in any order and several times."""
        self.add(*(self.pick(*choices) for _ in range(self.random.randint(low, high))))

    def call(self, function, required, *parameters, keywords=False):
        """A call. Parameters are ``"name=choice|choice"``; the first ``required`` are always given.

        A call in ten has a mistake: an unknown keyword, a value of another type, none. With
        ``keywords`` no argument is positional.
        """
        parts, positional = [], self.chance(0.6) and not keywords
        mistake = self.pick("unknown", "wrong", "missing") if self.chance(0.1) else None
        chosen = self.random.randrange(len(parameters)) if parameters else -1
        for at, parameter in enumerate(parameters):
            name, choices = parameter.split("=", 1)
            value = self.pick(*choices.split("|"))
            if at == chosen and mistake == "wrong":
                value = self.pick(*WRONG)
            elif (at >= required and self.chance(0.6)) or (at == chosen and mistake == "missing"):
                positional = False
                continue
            positional = positional and (at < required or self.chance(0.5))
            parts.append(value if positional else f"{name}={value}")
        if mistake == "unknown":
            parts.append("other=1")
        return f"{function}({', '.join(parts)})"


def array(program, shape, dtype="float32"):
    """Source of a NumPy array of a shape whose numbers differ."""
    size = 1
    for n in shape:
        size *= n
    scale = program.pick("", " % 7", " / 4", " - 3")
    return f"(np.arange({size}){scale}).reshape({shape}).astype('{dtype}')"


# ── Iterators ───────────────────────────────────────────────────────────────────────────────

SHOW = (
    "show = lambda b: (b.data, b.label, b.pad, b.index, b.bucket_key, b.provide_data,"
    " b.provide_label)"
)
DESCRIBE = "describe = lambda ds: [(d.name, d.shape, np.dtype(d.dtype).name, d.layout) for d in ds]"


def iterate(program, name, low=3, high=10):
    """Calls of an iterator in any order, past its end too."""
    program.some(
        low,
        high,
        *(f"show({name}.next())", f"show(next({name}))", f"bool({name}.iter_next())") * 2,
        *(f"{name}.getdata()", f"{name}.getlabel()", f"{name}.getpad()", f"{name}.getindex()"),
        *(f"{name}.reset()", f"[show(b) for b in {name}]", f"[b.pad for b in {name}]"),
        *(f"{name}.provide_data", f"describe({name}.provide_label)", f"{name}.batch_size"),
        f"describe({name}.provide_data)",
        f"len(list({name}))",
    )


def data_source(program, rows, names=("data", "more")):
    """Source of the data or labels of an NDArrayIter."""
    width = program.pick((), (2,), (3,), (2, 2))
    one = array(program, (rows, *width), program.pick("float32", "float32", "float64", "int32"))
    if program.chance(0.4):
        one = f"mx.nd.array({one})"
    other = array(program, (rows, program.pick(1, 2)))
    csr = f"mx.nd.array({array(program, (rows, 3))}).tostype('csr')"
    return program.pick(
        *(one, one, one, f"[{one}, {other}]", f"{{'{names[0]}': {one}}}"),
        f"{{'{names[1]}': {one}, '{names[0]}': {other}}}",
        f"[('{names[0]}', {one})]" if program.chance(0.1) else one,
        csr if program.chance(0.5) else one,
        f"({one}, {other})" if program.chance(0.3) else one,
    )


def array_iterator(program, rows=None):
    """An NDArrayIter; its name."""
    rows = rows or program.random.randint(1, 9)
    lost = rows + 1 if program.chance(0.05) else rows
    data = data_source(program, rows)
    label = data_source(program, lost, ("softmax_label", "label2"))
    return program.new(
        program.call(
            "mx.io.NDArrayIter",
            1,
            f"data={data}",
            f"label=None|{label}|{label}|{label}",
            "batch_size=1|2|3|4|5",
            "shuffle=False|True",
            "last_batch_handle='pad'|'discard'|'roll_over'",
            "data_name='data'|'x'",
            "label_name='softmax_label'|'y'",
            "layout='NCHW'|'NHWC'|'NT'",
        ),
        "it",
    )


def array_iterators(program):
    """NDArrayIter, by hand."""
    program.add(SHOW, DESCRIBE)
    name = array_iterator(program)
    iterate(program, name, 4, 10)
    program.some(0, 3, f"{name}.hard_reset()", f"{name}.cursor", f"{name}.num_data")
    program.some(0, 1, f"{name}.shuffle", f"{name}.last_batch_handle", f"{name}.num_source")
    program.add(f"{name}.reset()", f"[show(b) for b in {name}]")


def wrapped_iterators(program):
    """ResizeIter and PrefetchingIter over iterators, and iterators of a program's own."""
    program.add(SHOW, DESCRIBE)
    inner = array_iterator(program, 7)
    kind = program.pick("resize", "prefetch", "two", "own")
    if kind == "resize":
        text = program.call(
            "mx.io.ResizeIter", 2, f"data_iter={inner}", "size=1|2|5|8", "reset_internal=True|False"
        )
    elif kind == "prefetch":
        text = program.call(
            *("mx.io.PrefetchingIter", 1, f"iters={inner}|[{inner}]"),
            *("rename_data=[{'data': 'x'}]|None", "rename_label=[{'softmax_label': 'y'}]"),
        )
    elif kind == "two":
        other = array_iterator(program, 7)
        text = program.call(
            *("mx.io.PrefetchingIter", 1, f"iters=[{inner}, {other}]"),
            "rename_data=[{'data': 'a'}, {'data': 'b'}]",
            "rename_label=[{'softmax_label': 'c'}, {'softmax_label': 'd'}]",
        )
    else:
        program.add(OWN_ITERATOR)
        text = program.call("Own", 0, "size=2|3", "batch_size=0|2")
    name = program.new(text, "it")
    iterate(program, name, 5, 10)
    program.add(f"{name}.reset()", f"[show(b) for b in {name}]")


OWN_ITERATOR = """class Own(mx.io.DataIter):
    def __init__(self, size=3, batch_size=2):
        super(Own, self).__init__(batch_size)
        self.size, self.at = size, 0
        self.provide_data = [mx.io.DataDesc('data', (2, 1))]
        self.provide_label = []
    def iter_next(self):
        self.at += 1
        return self.at <= self.size
    def reset(self):
        self.at = 0
    def getdata(self):
        return [mx.nd.ones((2, 1)) * self.at]
    def getlabel(self):
        return []
    def getpad(self):
        return 0
"""


def file_iterators(program):
    """CSVIter, LibSVMIter and MNISTIter over files that the program writes."""
    rows = program.random.randint(3, 9)
    kind = program.pick("csv", "libsvm", "mnist")
    program.add(SHOW.replace("b.index, ", "") if kind == "mnist" else SHOW, DESCRIBE)
    common = (
        *("round_batch=True|False", "batch_size=1|2|3|4"),
        *("prefetch_buffer=4", "dtype='float32'|'int32'|'float64'"),
    )
    if kind == "csv":
        program.add(
            f"np.savetxt('d.csv', {array(program, (rows, 6))}, delimiter=',', fmt='%.8g')",
            f"np.savetxt('l.csv', {array(program, (rows, 2))}, delimiter=',', fmt='%.8g')",
        )
        text = program.call(
            *("mx.io.CSVIter", 2, "data_csv='d.csv'", "data_shape=(6,)|(2, 3)|(6,)|(5,)"),
            *("label_csv='l.csv'|'none.csv'|'l.csv'", "label_shape=(2,)|(1,)|(2,)"),
            *common,
            keywords=True,
        )
    elif kind == "libsvm":
        lines = [
            " ".join(
                [str(program.random.randint(0, 3)) + program.pick("", "", ".5")]
                + [f"{c}:{program.random.randint(1, 9)}" for c in range(5) if program.chance(0.4)]
            )
            for _ in range(rows)
        ]
        text = "\\n".join(lines)
        program.add(f"len(open('d.svm', 'w').write('{text}\\n').__str__())")
        text = program.call(
            *("mx.io.LibSVMIter", 2, "data_libsvm='d.svm'", "data_shape=(5,)|5|(6,)|(4,)"),
            *("label_libsvm='d.svm'|'none'", "label_shape=(1,)|(5,)", *common),
            keywords=True,
        )
    else:
        program.add(
            "import struct",
            f"n = open('i', 'wb').write(struct.pack('>IIII', 2051, {rows}, 3, 2)"
            f" + bytes(range({rows * 6})))",
            f"n = open('l', 'wb').write(struct.pack('>II', 2049, {rows}) + bytes(range({rows})))",
        )
        text = program.call(
            *("mx.io.MNISTIter", 3, "image='i'", "label='l'", "batch_size=1|2|3"),
            *("shuffle=False", "flat=True|False", "seed=1", "silent=True|1", "num_parts=1|2"),
            *("part_index=0|1", "prefetch_buffer=1"),
            keywords=True,
        )
    program.add(f"it: object = {text}")  # MXNet's class of it is one for all kinds
    name = "it"
    program.add("show(it.next())")  # iter_next before it stays at the first batch in MXNet
    begin = len(program.lines)
    iterate(program, name, 4, 9)
    if kind == "mnist":  # its indices are 0 in MXNet
        program.lines[begin:] = [n for n in program.lines[begin:] if "getindex" not in n]
    else:  # Differs: a reset within an epoch
        whole = "len(list(it)), it.reset()"
        program.lines[begin:] = [whole if "reset" in n else n for n in program.lines[begin:]]
    program.add(f"len(list({name})), {name}.reset()", f"[show(b) for b in {name}]")


def sentences(program):
    """BucketSentenceIter and encode_sentences."""
    program.add(SHOW, DESCRIBE)
    words = "abcdefg"
    text = [
        [program.pick(*words) for _ in range(program.random.randint(1, 6))]
        for _ in range(program.random.randint(4, 14))
    ]
    program.add(f"text = {text}")
    program.add(
        "coded, vocabulary = "
        + program.call(
            *("mx.rnn.encode_sentences", 1, "sentences=text", "vocab=None|{'a': 1}"),
            *("invalid_label=-1|0", "invalid_key='\\n'|'<pad>'", "start_label=0|1|3"),
            "unknown_token='<unk>'|None",
        )
    )
    name = program.new(
        program.call(
            *("mx.rnn.BucketSentenceIter", 2, "sentences=coded|[[1, 2], [3], [1, 2], [4]]"),
            *("batch_size=1|2|3", "buckets=[2, 4]|[3, 6]|[6]|[2, 4, 6]", "invalid_label=-1|0"),
            *("data_name='data'|'x'", "label_name='softmax_label'|'y'"),
            *("dtype='float32'|'int32'", "layout='NT'|'TN'"),
        ),
        "it",
    )
    program.add(f"{name}.buckets, {name}.default_bucket_key, {name}.major_axis")
    program.some(
        *(3, 8, f"show(next({name}))", f"show({name}.next())", f"{name}.reset()"),
        *(f"describe({name}.provide_data)", f"[show(b) for b in {name}]", f"{name}.nddata"),
    )


def batches(program):
    """DataDesc and DataBatch."""
    program.add(DESCRIBE)
    for _ in range(program.random.randint(1, 3)):
        name = program.new(
            program.call(
                *("mx.io.DataDesc", 2, "name='data'|'x'|b'x'", "shape=(2, 3)|[2, 3]|()|(0, 2)"),
                *("dtype=np.float32|'float16'|np.int32|int", "layout='NCHW'|'NT'|'TNC'|None|''"),
            ),
            "d",
        )
        program.some(
            *(1, 4, name, f"str({name})", f"{name}.dtype", f"{name}.layout", f"len({name})"),
            *(f"{name}[1]", f"{name}.get_batch_axis({name}.layout)", f"repr({name})"),
            *(f"{name} == ('data', (2, 3))", f"{name}._replace(name='z')", f"hash({name}) * 0"),
        )
    program.some(
        *(0, 3, "mx.io.DataDesc.get_list([('a', (1, 2)), ('b', (3,))], [('a', np.int32)])"),
        "mx.io.DataDesc.get_list([('a', (1, 2))], None)",
        "mx.io.DataDesc.get_batch_axis(None), mx.io.DataDesc.get_batch_axis('TNC')",
    )
    batch = program.new(
        program.call(
            *("mx.io.DataBatch", 1, "data=[mx.nd.ones((2, 3))]|mx.nd.ones((2, 3))|[]|None"),
            *("label=[mx.nd.zeros((2,))]|None|mx.nd.zeros((2,))|()", "pad=0|1|None"),
            *("index=None|np.arange(2)|[1, 0]", "bucket_key=None|5|(2, 3)"),
            "provide_data=[('data', (2, 3))]|[mx.io.DataDesc('data', (2, 3))]",
            "provide_label=[('softmax_label', (2,))]|None",
        ),
        "batch",
    )
    program.add(
        f"{batch}.data is None or str({batch})",
        f"{batch}.data, {batch}.label, {batch}.pad, {batch}.index",
    )
    program.add(f"{batch}.bucket_key, {batch}.provide_data, {batch}.provide_label")


# ── Metrics ─────────────────────────────────────────────────────────────────────────────────

NAMES = ("name='m'", "output_names=['out']|None|['no']|['out', 'out2']", "label_names=['lab']|None")
METRICS = {
    "Accuracy": ("classes", 0, "axis=1|0|-1|2", *NAMES),
    "TopKAccuracy": ("classes", 0, "top_k=1|2|3|5", *NAMES),
    "F1": ("two", 0, *NAMES, "average='macro'|'micro'|'other'"),
    "MCC": ("two", 0, *NAMES, "average='macro'|'micro'"),
    "PCC": ("classes", 0, *NAMES, "has_global_stats=True|False"),
    "MAE": ("numbers", 0, *NAMES),
    "MSE": ("numbers", 0, *NAMES),
    "RMSE": ("numbers", 0, *NAMES),
    "PearsonCorrelation": ("numbers", 0, *NAMES, "average='macro'|'micro'"),
    "CrossEntropy": ("classes", 0, "eps=1e-12|0.1", *NAMES),
    "NegativeLogLikelihood": ("classes", 0, "eps=1e-12|0.1", *NAMES),
    "Perplexity": ("classes", 1, "ignore_label=None|0|1", "axis=-1|1", *NAMES),
    "Loss": ("numbers", 0, *NAMES),
    "Torch": ("numbers", 0, *NAMES),
    "Caffe": ("numbers", 0, *NAMES),
}
NICKNAMES = """
    acc accuracy top_k_accuracy top_k_acc f1 mcc pcc mae mse rmse pearsonr ce cross-entropy
    nll_loss nll-loss loss Accuracy MAE none torch caffe perplexity composite custom
""".split()


def answers(program, kind):
    """Labels and outputs of a batch, as names."""
    n, c = program.random.randint(1, 5), 2 if kind == "two" else program.pick(2, 3, 4)
    if kind == "numbers":
        shape = program.pick((n,), (n, 1), (n, 2), (n, 2, 2))
        other = shape if program.chance(0.85) else program.pick((n, 1), (n,), (n + 1,))
        label, pred = array(program, shape), array(program, other)
        pred = f"({pred} * 1.5 - 1)"
    else:
        column = (n,) if kind == "two" else (n, 1)  # Differs: labels (N, 1) of F1
        shape = program.pick((n,), (n,), (n,), column, (n + 1,), (n, 2))
        label = f"np.random.randint(0, {c}, {shape})"
        pred = f"np.random.dirichlet(np.ones({c}), {(n, *shape[1:2]) if shape[1:] == (2,) else n})"
        if len(shape) > 1 and shape[1] == 2:
            pred = f"{pred}.transpose((0, 2, 1))" if program.chance(0.5) else pred
        if program.chance(0.1):
            pred = f"np.random.randint(0, {c}, {shape})"
    kinds = ("'float32'",) * 6 + ("'float64'", "'float16'", "'int32'")
    made = []
    for value, prefix in ((label, "lab"), (pred, "out")):
        if program.chance(0.95):
            value = f"mx.nd.array({value}, dtype={program.pick(*kinds)})"
        made.append(program.new(value, prefix))
    return made


def read_metric(program, name, count=2):
    """Reads of a metric as plain floats: the class of the number differs by design."""
    floats = "np.asarray({}, 'float64').tolist()"
    program.some(
        *(1, count, f"{name}.get()[0], " + floats.format(f"{name}.get()[1]")),
        f"[(n, float(v)) for n, v in {name}.get_name_value()]",
        f"[(n, float(v)) for n, v in {name}.get_global_name_value()]",
        f"{name}.get_global()[0], " + floats.format(f"{name}.get_global()[1]"),
        f"{name}.name, {name}.output_names, {name}.label_names",
        f"str({name})[:12]" if program.chance(0.5) else f"float({name}.num_inst)",
        f"{name}.get_config()",
        f"float({name}.sum_metric)",
        f"float({name}.global_sum_metric), float({name}.global_num_inst)",
    )


def update_metric(program, name, kind):
    """Updates in every form, resets between them."""
    for _ in range(program.random.randint(1, 3)):
        label, pred = answers(program, kind)
        forms = (
            *(f"{name}.update([{label}], [{pred}])",) * 5,
            *(f"{name}.update({label}, {pred})",) * 2,
            *(f"{name}.update(labels=[{label}], preds=[{pred}])",) * program.chance(0.1),
            f"{name}.update([{label}, {label}], [{pred}, {pred}])",
            f"{name}.update([{label}], [{pred}, {pred}])",
            f"{name}.update([], [])",
            *(f"{name}.update_dict({{'lab': {label}}}, {{'out': {pred}}})",) * 2,
            f"{name}.update_dict({{'lab': {label}, 'b': {label}}}, {{'out': {pred}, 'z': {pred}}})",
            f"{name}.update_dict({{'no': {label}}}, {{'out': {pred}}})",
            f"{name}.update(None, [{pred}])",
        )
        program.some(1, 2, *forms)
        if program.chance(0.3):
            program.some(1, 1, f"{name}.reset()", f"{name}.reset_local()")
        read_metric(program, name)


def metrics(program):
    """One metric, made by its class or by create."""
    cls = program.pick(*METRICS)
    kind, required, *parameters = METRICS[cls]
    made = program.call(f"mx.metric.{cls}", required, *parameters)
    if program.chance(0.25):
        nickname = program.pick(*NICKNAMES)
        made = f"mx.metric.create('{nickname}')"
        kind = program.pick("classes", "numbers", "two")
    elif program.chance(0.2):
        made = program.call("mx.metric.create", 1 + required, f"metric='{cls}'", *parameters)
    name = program.new(made, "m")
    read_metric(program, name, 1)
    update_metric(program, name, kind)
    program.add(f"float({name}.num_inst)")


def composite_metrics(program):
    """Composite and custom metrics."""
    program.add("error = lambda label, pred: float(np.abs(label - pred).sum())")
    program.add("pair = lambda label, pred: (np.abs(label - pred).sum(), label.size)")
    custom = program.pick(
        program.call(
            *("mx.metric.CustomMetric", 1, "feval=error|pair|lambda label, pred: 1"),
            *("name='mine'|None", "allow_extra_outputs=True|False", *NAMES[1:]),
        ),
        program.call(
            *("mx.metric.np", 1, "numpy_feval=error|pair", "name='mine'|None"),
            "allow_extra_outputs=True|False",
        ),
        "mx.metric.create(error)",
        "mx.metric.create(pair)",
        "mx.metric.create(lambda label, pred: label.sum())",
    )
    first = program.new(custom, "m")
    made = program.pick(
        *(
            f"mx.metric.CompositeEvalMetric([{first}, 'mse'])",
            f"mx.metric.create([{first}, 'mae'])",
        ),
        "mx.metric.CompositeEvalMetric(metrics=['mse', mx.metric.MAE()], name='both')",
        "mx.metric.CompositeEvalMetric()",
        "mx.metric.create(['mae', 'rmse', mx.metric.Loss()])",
        "mx.metric.create('composite', ['mae', 'mse'])",
        "mx.metric.create(mx.metric.CompositeEvalMetric(['mae']))",
        first,
    )
    name = program.new(made, "c")
    if made != first:
        program.some(
            *(1, 3, f"{name}.add('mae')", f"{name}.add(mx.metric.MSE(name='x'))", f"{name}.add(3)"),
            *(f"{name}.get_metric(0).name", f"len({name}.metrics)"),
            f"{name}.add({first})",
        )
    update_metric(program, name, "numbers")
    program.add(f"{name}.get()[0]")


# ── Stores ──────────────────────────────────────────────────────────────────────────────────


def stores(program):
    """KVStore: init, push, pull, and what has an optimizer."""
    program.add(
        "kv = mx.kv.create("
        + program.pick(*("'local'", "'device'", "") * 5, "'local_allreduce_cpu'", "3")
        + ")"
    )
    program.add("kv.type, kv.rank, kv.num_workers, kv.is_capable('optimizer')")
    shape = program.pick((2,), (2, 2), (3, 1))
    keys = program.pick(("3", "5", "9"), ("'a'", "'b'", "'c'"))
    one = f"mx.nd.ones({shape})"
    program.add(f"kv.init({keys[0]}, {one})", f"kv.init([{keys[1]}, {keys[2]}], [{one} * 2] * 2)")
    out = program.new(f"mx.nd.zeros({shape})", "out")
    outs = program.new(f"[mx.nd.zeros({shape}), mx.nd.zeros({shape}, mx.cpu(1))]", "outs")
    sparse = f"mx.nd.array({array(program, (2, 2))}).tostype('row_sparse')"
    setups = (
        "kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))",
        "kv.set_optimizer(mx.optimizer.create('adam', learning_rate=0.1))",
        "kv.set_optimizer(mx.optimizer.Test())",
        "kv._set_updater(lambda key, value, weight: weight.__iadd__(value * 2))",
        "kv._set_updater(mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1)))",
        "kv.set_gradient_compression({'type': '2bit', 'threshold': 0.5})",
        "kv.set_gradient_compression({'type': '1bit'})",
    )
    calls = [program.pick(*setups)] if program.chance(0.6) else []
    for _ in range(program.random.randint(4, 9)):
        key = program.pick(*keys) if program.chance(0.94) else program.pick("77", "'zz'", "None")
        many = f"[{keys[0]}, {keys[1]}]"
        value = program.pick(
            *(one, f"{one} * 3", f"[{one}, {one} * 2]"),
            *(f"[{one}, mx.nd.ones({shape}, mx.cpu(1))]", f"np.ones({shape})")
            if program.chance(0.4)
            else (one,),
        )
        priority = program.pick("", "", ", priority=-1", ", 2", ", priority='a'")
        calls.append(
            program.pick(
                *(f"kv.push({key}, {value}{priority})",) * 4,
                f"kv.push({many}, [{value}, {value}]{priority})",
                f"kv.push({many}, [[{one}, {one}], [{one}]])",
                *(f"kv.pull({key}, out={out}{priority})",) * 3,
                f"kv.pull({key}, {outs}{priority})",
                f"kv.pull({many}, out=[{out}, {outs}])",
                f"kv.pull({key}, out={out}, ignore_sparse={program.pick('True', 'False')})",
                f"kv.pushpull({key}, {value}, out={out}{priority})",
                f"kv.pushpull({key}, {value})",
                f"kv.broadcast({program.pick('44', key)}, {one}, out={out})",
                f"kv.init({key}, {one})",
                f"kv.init({program.pick('11', '12', many)}, {value})",
                f"kv.row_sparse_pull({key}, out={out}, row_ids=mx.nd.array([0, 1]))",
                "kv.save_optimizer_states('s'), 1",
                "kv.load_optimizer_states('s')",
                "kv.save_optimizer_states('s', dump_optimizer=True)",
            )
        )
        if program.chance(0.5):
            calls.append(f"{out}, {outs}")
    if program.chance(0.3):
        calls += [
            f"kv.init(50, {sparse})",
            "rsp = mx.nd.sparse.zeros('row_sparse', (2, 2))",
            program.pick(
                "kv.row_sparse_pull(50, out=rsp, row_ids=mx.nd.array([1]))",
                "kv.row_sparse_pull(50, out=[rsp, rsp], row_ids=[mx.nd.array([1, 0])] * 2)",
                "kv.row_sparse_pull(50, rsp, 0, mx.nd.array([0, 0]))",
                "kv.row_sparse_pull(50, out=rsp)",
                "kv.row_sparse_pull([50], out=[rsp], row_ids=[mx.nd.array([1])])",
            ),
            "rsp, rsp.indices",
            f"kv.push(50, {sparse})",
            "kv.pull(50, out=rsp)",
            "kv.pull(50, out=rsp, ignore_sparse=False)",
            "rsp",
        ]
    program.add(*calls, f"kv.pull({keys[0]}, {out})", out)


# ── Optimizers and schedules ────────────────────────────────────────────────────────────────

COMMON = (
    *("learning_rate=0.1|0.5|0.01|1", "wd=0|0.1|0.01", "rescale_grad=1.0|0.5|2|-1"),
    *("clip_gradient=None|0.5|1|2", "begin_num_update=0|3", "multi_precision=False|True"),
    "param_idx2name={0: 'w_weight', 1: 'w_bias', 2: 'bn_gamma'}",
    "lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5)"
    "|mx.lr_scheduler.PolyScheduler(6, base_lr=0.3)",
)
OPTIMIZERS = {
    "SGD": ("momentum=0.0|0.9", "lazy_update=True|False"),
    "NAG": ("momentum=0.0|0.9",),
    "Signum": ("momentum=0.9|0", "wd_lh=0.0|0.1"),
    "FTML": ("beta1=0.6|0.5", "beta2=0.999|0.9", "epsilon=1e-8|0.1"),
    "LARS": ("momentum=0.0|0.9", "eta=0.001|0.1", "eps=0|0.1", "momentum_correction=True|False"),
    "LBSGD": (
        *("momentum=0.0|0.9", "warmup_strategy='linear'|'power2'|'sqrt'|'lars'"),
        *("warmup_epochs=5|1", "batch_scale=1|2", "updates_per_epoch=32|2", "num_epochs=60|3"),
    ),
    "LAMB": (
        *("beta1=0.9|0.5", "epsilon=1e-6|0.1", "lower_bound=None|0.1", "upper_bound=None|2"),
        "bias_correction=True|False",
    ),
    "DCASGD": ("lamda=0.04|0.5",),
    "Adam": ("beta1=0.9|0.5", "beta2=0.999|0.9", "epsilon=1e-8|0.1", "lazy_update=True|False"),
    "AdaGrad": ("eps=1e-7|0.1",),
    "RMSProp": ("gamma1=0.9|0.5", "gamma2=0.9", "epsilon=1e-8|0.1", "centered=True|False",
                "clip_weights=None|0.3"),
    "AdaDelta": ("rho=0.9|0.5", "epsilon=1e-5|0.1"),
    "Ftrl": ("lamda1=0.01|0.5", "beta=1|0.5"),
    "Adamax": ("beta1=0.9|0.5", "beta2=0.999|0.9"),
    "Nadam": ("beta1=0.9|0.5", "schedule_decay=0.004|0.1"),
    "contrib.GroupAdaGrad": ("eps=1e-5|0.1",),
}  # fmt: skip


def optimizers(program):
    """An optimizer through its updater, or directly; attributes change on the way."""
    cls = program.pick(*OPTIMIZERS)
    kept = [p for p in (*OPTIMIZERS[cls], *COMMON) if program.chance(0.35)]
    function = f"mx.optimizer.{cls}("
    made = program.call(f"mx.optimizer.{cls}", len(kept), *kept, keywords=True)
    if program.chance(0.3):
        nickname = cls.rsplit(".", 1)[-1].lower()
        made = made.replace(function, f"mx.optimizer.create('{nickname}', ").replace(", )", ")")
    opt = program.new(made, "opt")
    half = "multi_precision=True" in made and program.chance(0.7)
    dtype = "'float16'" if half else program.pick(*("'float32'",) * 6, "'float16'", "'float64'")
    shape = program.pick((3,), (2, 3), (2, 2), (4, 1))
    weights = program.new(
        f"[mx.nd.array({array(program, shape)}, dtype={dtype}) * 0.25 + i for i in range(3)]", "w"
    )
    grads = program.new(
        f"[mx.nd.array(np.random.uniform(-1, 1, {shape}), dtype={dtype}) for i in range(3)]", "g"
    )
    if program.chance(0.15):
        grads = program.new(f"[g.tostype('row_sparse') for g in {grads}]", "g")
    settings = (
        *(f"{opt}.set_learning_rate(0.3)", f"{opt}.set_lr_mult({{'w_bias': 2, 1: 0.5}})"),
        *(f"{opt}.set_wd_mult({{'w_weight': 0}})", f"{opt}.wd = 0.2", f"{opt}.rescale_grad = 0.25"),
        *(f"{opt}.lr = 0.05", f"{opt}.clip_gradient = 0.1", f"{opt}.learning_rate"),
        *(f"{opt}.num_update, {opt}.begin_num_update", f"{opt}.lr_mult, {opt}.wd_mult"),
        *(f"{opt}.idx2name", f"{opt}._index_update_count", f"{opt}._get_lr(0)", f"{opt}.wd"),
        *(
            f"np.asarray({opt}._get_wds([0, 1]), float)",
            f"{opt}._get_lrs([1, 2])",
            f"{opt}.learning_rate = 1",
        ),
        *(f"{opt}.aggregate_num", f"{opt}.momentum", f"{opt}.beta1, {opt}.epsilon"),
        f"{opt}.param_dict",
    )
    # Called directly, MXNet's LAMB leaves its float32 weights. Gradients are copies: some scale them.
    direct = program.chance(0.4) and not (half and cls == "LAMB")
    if direct:
        multi = "_multi_precision" if program.chance(0.5) else ""
        states = program.new(
            f"[{opt}.create_state{multi}(i, w) for i, w in enumerate({weights})]", "s"
        )
        steps = (
            f"{opt}.update{multi}(0, {weights}[0], {grads}[0].copy(), {states}[0])",
            f"{opt}.update{multi}(1, {weights}[1], {grads}[2].copy(), {states}[1])",
            f"{opt}.update{multi}([0, 2], {weights}[::2], [g.copy() for g in {grads}[:2]], {states}[::2])"
            if program.chance(0.4) and cls in ("SGD", "LAMB", "LARS")
            else f"{opt}.update{multi}(2, {weights}[2], {grads}[2].copy(), {states}[2])",
        )
        extra = ()
    else:
        updater = program.new(f"mx.optimizer.get_updater({opt})", "up")
        steps = (
            *(f"{updater}(0, {grads}[0].copy(), {weights}[0])", f"{updater}(1, {grads}[1].copy(), {weights}[1])"),
            f"{updater}([0, 1], [g.copy() for g in {grads}[:2]], {weights}[:2])",
            f"{updater}([2], [{grads}[2].copy()], [{weights}[2]])",
            f"{updater}('w_bias', {grads}[0].copy(), {weights}[0])",
            f"{updater}(7, {grads}[0].copy(), {weights}[2])" if program.chance(0.2) else
            f"{updater}(2, {grads}[0].copy(), {weights}[2])",
        )  # fmt: skip
        states = f"{updater}.states"
        extra = (
            f"saved = {updater}.get_states()[:0]",
            f"{updater}.set_states({updater}.get_states())",
            f"{updater}.set_states({updater}.get_states(dump_optimizer=True))",
            f"{updater}.states_synced",
            f"{updater}.aggregate_updates",
        )
    shown = f"[w.astype('float32') for w in {weights}]"  # MXNet's constants are float32
    shown = shown if dtype == "'float64'" else weights
    for _ in range(program.random.randint(3, 7)):
        program.some(1, 2, *steps)
        program.some(0, 1, *settings, *extra)
        if program.chance(0.4):
            program.add(shown)
    program.add(
        shown,
        states if shown == weights else shown,
        f"{opt}.num_update",
        f"{opt}._index_update_count",
    )


WARMUP = (
    *("base_lr=0.01|0.5|1", "warmup_steps=0|2|4", "warmup_begin_lr=0|0.1|0.005"),
    "warmup_mode='linear'|'constant'|'other'",
)
SCHEDULES = {
    "FactorScheduler": (1, "step=1|2|5|0", "factor=1|0.5|0.1|2", "stop_factor_lr=1e-8|0.1"),
    "MultiFactorScheduler": (1, "step=[2, 4]|[1]|[3, 2]|(2, 5)|[0, 3]|[]", "factor=1|0.5|0.1|1.5"),
    "PolyScheduler": (1, "max_update=5|10|0", "pwr=1|2|0.5", "final_lr=0|0.001"),
    "CosineScheduler": (1, "max_update=5|10|1", "final_lr=0|0.001"),
    "LRScheduler": (0,),
}


def schedules(program):
    """Schedules called at any counts."""
    for _ in range(program.random.randint(1, 3)):
        cls = program.pick(*SCHEDULES)
        required, *parameters = SCHEDULES[cls]
        extra = list(WARMUP)
        name = program.new(
            program.call(f"mx.lr_scheduler.{cls}", required, *parameters, *extra)
            if required
            else program.call(f"mx.lr_scheduler.{cls}", 0, *WARMUP),
            "s",
        )
        counts = sorted(program.random.randint(0, 14) for _ in range(program.random.randint(3, 8)))
        if program.chance(0.3):
            program.random.shuffle(counts)
        program.add(f"[float({name}(n)) for n in {counts}]")
        program.some(
            *(1, 4, f"{name}({program.random.randint(0, 20)})", f"{name}.base_lr"),
            *(f"{name}.base_lr = 0.25", f"{name}.warmup_steps, {name}.warmup_final_lr"),
            *(f"{name}.get_warmup_lr(1)", f"{name}.count", f"{name}.max_update, {name}.max_steps"),
            *(f"{name}.step, {name}.factor", f"{name}(3.5)", f"{name}.cur_step_ind", f"{name}(-1)"),
            *(f"{name}(num_update=4)", f"{name}.base_lr_orig", f"{name}.final_lr, {name}.power"),
            f"{name}('a')" if program.chance(0.1) else f"float({name}(np.int64(3)))",
        )


# ── Initializers ────────────────────────────────────────────────────────────────────────────

INITIALIZERS = choices(r"""
    mx.init.Zero()
    mx.init.One()
    mx.init.Constant(2.5)
    mx.init.Bilinear()
    mx.init.Constant(mx.nd.ones((2, 3)))
    mx.init.Constant(np.arange(3))
    'zeros'
    'ones'
    mx.init.LSTMBias(forget_bias=2.0)
    mx.init.LSTMBias()
    mx.init.Uniform()
    'xavier'
    mx.init.Uniform(0.5)
    mx.init.Normal(sigma=0.1)
    mx.init.Xavier()
    'uniform'
    mx.init.Xavier(rnd_type='gaussian', factor_type='in', magnitude=2)
    mx.init.Xavier('uniform', 'out', 1)
    mx.init.Xavier(rnd_type='other')
    mx.init.Xavier(factor_type='other')
    mx.init.MSRAPrelu()
    mx.init.MSRAPrelu('in', 0.1)
    mx.init.Orthogonal()
    mx.init.Orthogonal(scale=2, rand_type='normal')
    mx.init.Load({'w_weight': mx.nd.ones((2, 3)), 'arg:fc_bias': mx.nd.zeros((3,))}, 'zeros')
    mx.init.Load({'w_weight': mx.nd.ones((2, 3))})
    mx.init.Load({'fc_weight': mx.nd.ones((2, 3))}, default_init=mx.init.One(), verbose=True)
    mx.init.Mixed(['.*bias', '.*'], [mx.init.Zero(), mx.init.One()])
    mx.init.Mixed(['fc.*'], [mx.init.Constant(3)])
    mx.init.Mixed(['a', 'b'], [mx.init.Zero()])
    mx.init.Mixed(['.*gamma', '.*'], ['zeros', 'ones'])
    mx.init.FusedRNN(mx.init.One(), 2, 1, 'lstm', False, 2.0)
    mx.init.FusedRNN(mx.init.Zero(), 2, 2, 'gru', bidirectional=True)
    mx.init.create('constant', value=2)
    mx.init.create('none')
    mx.init.Initializer()
    mx.init.create('zeros')
    mx.init.create(mx.init.One())
    mx.init.Initializer(a=1)
    mx.init.create('["xavier", {"magnitude": 2}]')
""")
PARAMETERS = """
    w_weight fc_bias bn_gamma bn_beta bn_moving_mean bn_moving_var data bn_running_mean
    bn_running_var q_min q_max up_upsampling lstm_parameters lstm_i2h_bias bn_moving_inv_var
    bn_moving_avg stn_loc_weight weight x_w
""".split()
ATTRIBUTES = choices(r"""
    {}
    {}
    {'__init__': '["one", {}]'}
    {'__init__': 'zeros'}
    {'__init__': ''}
    {'__init__': '["constant", {"value": 4}]'}
    {'__lr_mult__': '2'}
    {'__init__': '["nothing", {}]'}
""")


def initializers(program):
    """Initializers by the names and attributes of variables."""
    random_ones = ("Uniform", "Normal", "Xavier", "MSRA", "Orthogonal", "xavier", "uniform")
    for _ in range(program.random.randint(1, 3)):
        made = program.pick(*INITIALIZERS)
        if made[0] == "'":
            made = f"mx.init.create({made})"
        init = program.new(made, "init")
        drawn = any(word in made for word in random_ones)
        for _ in range(program.random.randint(2, 4)):
            shape = program.pick("(2, 3)", "(2, 3)", "(3,)", "(8,)", "(1, 1, 4, 4)", "(4, 2)")
            dtype = program.pick("", "", "", ", dtype='float16'", ", dtype='float64'")
            w = program.new(f"mx.nd.full({shape}, 7{dtype})", "w")
            name = program.pick(*PARAMETERS)
            if program.chance(0.5):
                desc = f"'{name}'"
            else:
                desc = f"mx.init.InitDesc('{name}', {program.pick(*ATTRIBUTES)})"
            program.add(
                program.pick(
                    *(f"{init}({desc}, {w})",) * 6,
                    f"{init}({name!r})" if program.chance(0.1) else f"{init}({desc}, arr={w})",
                    f"{init}._init_weight({desc}, {w})",
                    f"{init}({w})" if program.chance(0.1) else f"{init}({desc}, {w})",
                )
            )
            if drawn:
                program.add(f"{w}.shape, {w}.dtype")
            else:
                program.add(w)
        if program.chance(0.7):
            program.some(
                *(1, 2, f"{init}.dumps()", f"str({init}._kwargs)", f"{init} == {made}"),
                f"{init}.set_verbosity(True) is {init}",
            )


# ── Callbacks and monitors ──────────────────────────────────────────────────────────────────

LOG = (
    "import logging, re",
    "logs = []",
    "class Kept(logging.Handler):\n"
    "    def emit(self, record):\n"
    "        logs.append(re.sub(r'Speed: [0-9.infa]+', 'Speed', record.getMessage()))",
    "kept = Kept()",
    "logging.getLogger().handlers[:] = [kept]",
    "logging.getLogger().setLevel(logging.INFO)",
)
BATCH_PARAM = "mx.model.BatchEndParam(epoch={}, nbatch={}, eval_metric=metric, locals=None)"


def callbacks(program):
    """Callbacks of batches and epochs with a metric, and the lines of their logs."""
    program.add(*LOG)
    program.add(
        "metric = "
        + program.pick(
            *("mx.metric.MSE()", "mx.metric.create(['mse', 'mae'])", "mx.metric.Loss(name='l')"),
            "None",
        )
    )
    made = program.pick(
        program.call(
            "mx.callback.Speedometer",
            1,
            "batch_size=4|1",
            "frequent=1|2|3",
            "auto_reset=True|False",
        ),
        program.call("mx.callback.Speedometer", 1, "batch_size=4|1", "frequent=2"),
        program.call("mx.callback.ProgressBar", 1, "total=4|10", "length=10|80"),
        program.call("mx.callback.log_train_metric", 1, "period=1|2", "auto_reset=True|False"),
        "mx.callback.LogValidationMetricsCallback()",
    )
    program.add(f"called: object = {made}")
    batch, epoch = 0, 0
    for _ in range(program.random.randint(3, 8)):
        if program.chance(0.7):
            program.add("metric and metric.update([mx.nd.array([1, 2])], [mx.nd.array([2, 4])])")
        program.add(f"called({BATCH_PARAM.format(epoch, batch)})")
        batch += program.pick(1, 1, 2)
        if program.chance(0.2):
            batch, epoch = 0, epoch + 1
    program.add("logs", "metric and str(metric)")
    if program.chance(0.4):
        program.add("net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc')")
        program.add("args = {'fc_weight': mx.nd.ones((2, 3)), 'fc_bias': mx.nd.zeros((2,))}")
        program.add(
            f"save: object = mx.callback.do_checkpoint('p', {program.pick('1', 'period=2', '0')})"
        )
        program.some(
            2, 3, "save(0, net, args, {})", "save(1, net, args, {})", "save(2, net, args, {})"
        )
        program.add("import os", "sorted(f for f in os.listdir('.') if f.startswith('p-'))")
        program.add("logs", "[os.remove(f) for f in os.listdir('.') if f.startswith('p-')][:0]")


def monitors(program):
    """Monitor over an executor or a module."""
    program.add(*LOG)
    program.add(
        "net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc')",
        "net = mx.sym.Activation(net, act_type='relu', name='act')",
        "ex = net.simple_bind(mx.cpu(), data=(2, 3))",
        "[a.__setitem__(slice(None), i + 1) for i, a in enumerate(ex.arg_arrays)]",
    )
    made = program.call(
        *(
            "mx.mon.Monitor",
            1,
            "interval=1|2",
            "stat_func=None|lambda x: x.max()|lambda x: [x, x * 2]",
        ),
        *("pattern='.*'|'fc.*'|'.*output'|'none'", "sort=True|False", "monitor_all=True|False"),
    )
    program.add(f"mon = {made}")
    program.add("mon.install(ex)" if program.chance(0.9) else "mon.install(net)")
    for _ in range(program.random.randint(3, 6)):
        program.some(
            1,
            3,
            *choices(r"""
            mon.tic()
            ex.forward(is_train=False)
            ex.forward(is_train=True)
            ex.forward_backward() if hasattr(ex, 'forward_backward') else None
            mon.toc()
            mon.toc_print()
            mon.step, mon.activated
            mon.tic()
            ex.forward()
            mon.toc()
        """),
        )
    program.add("mon.toc()", "sorted(logs)")


# ── Record files and images ─────────────────────────────────────────────────────────────────


def records(program):
    """MXRecordIO, MXIndexedRecordIO and packed headers."""
    indexed = program.chance(0.5)
    key = program.pick("int", "str") if indexed else None
    header = program.pick(
        *("mx.recordio.IRHeader(0, 4.0, 7, 0)", "mx.recordio.IRHeader(0, [1, 2, 3], 2, 1)"),
        *("mx.recordio.IRHeader(0, np.array([1.5, 2]), 3, 0)", "(0, 5, 1, 0)"),
        *(
            "mx.recordio.IRHeader(3, 2.0, 3, 0)",
            "mx.recordio.IRHeader(flag=0, label=1, id=2, id2=3)",
        ),
        "mx.recordio.IRHeader(0, 'a', 1, 0)",
    )
    content = program.pick("b'abc'", "b''", "b'x' * 9", "'text'", "bytes(range(5))")
    program.add(f"packed = mx.recordio.pack({header}, {content})", "mx.recordio.unpack(packed)")
    make = ("mx.recordio.MXIndexedRecordIO", "mx.recordio.MXRecordIO")[not indexed]
    place = "'f.idx', 'f.rec'" if indexed else "'f.rec'"
    typed = f", {key}" if indexed and key != "int" else ""
    program.add(f"w = {make}({place}, {program.pick(*(repr('w'),) * 9, repr('x'))}{typed})")
    count = program.random.randint(1, 5)
    for i in range(count):
        data = program.pick("packed", "b'record'", f"b'r' * {program.random.randint(0, 9)}")
        key_text = repr(str(i)) if key == "str" else str(i * 3)
        program.add(f"w.write_idx({key_text}, {data})" if indexed else f"w.write({data})")
        if program.chance(0.2):
            program.add(program.pick("w.tell()", "w.read()", "w.writable", "w.is_open"))
    program.add(program.pick("w.close()", "w.close()", "w.close()", "w.reset()"))
    program.add(f"r = {make}({place}, 'r'{typed})")
    keys = [repr(str(i)) if key == "str" else str(i * 3) for i in range(count)]
    calls = ["r.read()", "r.read()", "r.reset()", "r.tell()", "r.writable, r.flag"]
    if indexed:
        some = program.pick(*keys, "99")
        calls += [f"r.read_idx({some})", "r.keys", "r.idx", f"r.seek({program.pick(*keys)})"]
        calls += [
            f"r.read_idx({program.pick(*keys)})",
            "r.key_type.__name__",
            "r.write_idx(1, b'')",
        ]
    else:
        calls += ["r.write(b'a')"]
    program.some(4, 10, *calls)
    program.some(0, 2, "r.close()", "r.read()", "r.is_open", "r.open()", "r.read()")
    program.add("open('f.rec', 'rb').read()")
    if indexed:
        program.add("open('f.idx').read()")


def image(program, name="img"):
    """A small image as an NDArray; its name."""
    h, w = program.random.randint(3, 9), program.random.randint(3, 9)
    value = f"np.random.randint(0, 256, ({h}, {w}, 3)).astype('uint8')"
    return program.new(f"mx.nd.array({value}, dtype='uint8')", name)


PNG = """def png(a):
    import struct, zlib
    part = lambda t, d: struct.pack('>I', len(d)) + t + d + struct.pack('>I', zlib.crc32(t + d))
    h, w = a.shape[:2]
    head = struct.pack('>IIBBBBB', w, h, 8, 2 if a.ndim == 3 else 0, 0, 0, 0)
    body = zlib.compress(b''.join(b'\\0' + row.tobytes() for row in a))
    return b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', head) + part(b'IDAT', body) + part(b'IEND', b'')
"""
"""The bytes that `pack_img` writes; in MXNet it needs OpenCV's package."""


def packed_images(program):
    """Images decoded from bytes, files and records."""
    img = image(program)
    program.add(PNG, f"array = {img}.asnumpy()")
    if program.chance(0.3):
        program.add("array = array[:, :, 0]")
    program.add("data = png(array)", "n = open('i.png', 'wb').write(data)")
    program.add("record = mx.recordio.pack(mx.recordio.IRHeader(0, 3.0, 1, 0), data)")
    program.some(
        5,
        9,
        *choices(r"""
        mx.image.imdecode(data)
        mx.image.imdecode(data, flag=0)
        mx.image.imdecode(data, to_rgb=False)
        mx.image.imdecode(data, 1, True)
        mx.image.imread('i.png')
        mx.image.imread('i.png', flag=0)
        mx.image.imdecode(b'')
        mx.image.imread('i.png', to_rgb=0)
        mx.image.imread('none.png')
        mx.image.imdecode(b'abc')
        mx.image.imdecode(bytearray(data))
        mx.image.imdecode(np.frombuffer(data, np.uint8))
        mx.img.imdecode(mx.nd.array(np.frombuffer(data, np.uint8), dtype='uint8'))
        mx.image.imdecode(mx.recordio.unpack(record)[1])
        mx.image.imdecode('text')
        mx.image.imdecode(data, flag=-1)
        mx.image.imdecode(data[:-20])
        mx.image.imread('i.png', 1)
        mx.nd.imdecode(data) if False else None
        mx.image.imdecode(3)
    """),
    )


AUGMENTERS = choices(r"""
    ResizeAug(size=5|3, interp=0|1)
    ForceResizeAug(size=(4, 5)|(3, 3), interp=0|1)
    CenterCropAug(size=(3, 3)|(2, 4)|(12, 12), interp=0|1)
    CastAug()|CastAug('float64')
    HorizontalFlipAug(p=0|1|1.0)
    RandomGrayAug(p=0|1)
    CastAug(typ='float32'|'int32')
    ColorNormalizeAug(mean=mx.nd.array([1, 2, 3])|None, std=mx.nd.array([2, 2, 2])|None)
    BrightnessJitterAug(brightness=0)
    ContrastJitterAug(contrast=0)
    SaturationJitterAug(saturation=0)
    ColorJitterAug(brightness=0, contrast=0, saturation=0)
    HueJitterAug(hue=0)
    RandomOrderAug(ts=[mx.image.CastAug()])
    SequentialAug(ts=[mx.image.CastAug(), mx.image.HorizontalFlipAug(1)]|[])
    LightingAug(alphastd=0, eigval=np.ones(3), eigvec=np.ones((3, 3)))
""")


def _augmenter(program):
    name, rest = program.pick(*AUGMENTERS).split("(", 1)
    parts = []
    if "|CastAug" not in rest and rest != ")":
        inner, depth, last = rest[:-1], 0, ""
        for c in inner + ",":
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                parts.append(last.strip())
                last = ""
            else:
                last += c
    required = len(parts)
    return program.call(f"mx.image.{name}", required, *parts)


def images(program):
    """Functions of images and augmenters, without random values."""
    img = image(program)
    if program.chance(0.3):
        img = program.new(f"{img}.astype('float32')", "img")
    size = program.random.randint(2, 6)
    for _ in range(program.random.randint(3, 8)):
        function = program.pick(
            *(("imresize", 3, f"src={img}", "w=4|7|2", "h=3|8", "interp=0|1|2"),) * 2,
            ("resize_short", 2, f"src={img}", "size=4|6", "interp=0|1"),
            (
                "center_crop",
                2,
                f"src={img}",
                f"size=(3, 2)|({size}, {size})|(20, 20)",
                "interp=0|1",
            ),
            (
                *("fixed_crop", 5, f"src={img}", "x0=0|1", "y0=0|1|2", "w=2|3", "h=1|2"),
                *("size=(4, 4)|None|(2, 3)", "interp=0|1"),
            ),
            (
                "color_normalize",
                2,
                f"src={img}",
                "mean=mx.nd.array([1, 2, 3])|None",
                "std=None|mx.nd.array([2, 1, 4])",
            ),
            ("scale_down", 2, "src_size=(10, 8)|(3, 4)", "size=(4, 4)|(20, 10)|(3, 9)"),
            (
                *("copyMakeBorder", 5, f"src={img}", "top=1|0", "bot=1|2", "left=0|1", "right=2|0"),
                *("type=0|1|2|4", "value=0|7", "values=(1, 2, 3)"),
            ),
            (
                "imrotate",
                2,
                f"src={img}.transpose((2, 0, 1)).astype('float32')",
                "rotation_degrees=0|90|30",
                "zoom_in=True|False",
                "zoom_out=True|False",
            ),
        )
        program.add(program.call(f"mx.image.{function[0]}", *function[1:]))
    for _ in range(program.random.randint(1, 3)):
        made = _augmenter(program)
        aug = program.new(made, "aug")
        program.add(f"{aug}({img})")
        program.some(0, 2, f"{aug}.dumps()", f"{aug}({img}).dtype", f"{aug}._kwargs")
    if program.chance(0.4):
        made = program.call(
            *("mx.image.CreateAugmenter", 1, "data_shape=(3, 4, 4)|(3, 2, 3)|(1, 3, 3)"),
            *("resize=0|5", "mean=True|np.array([1, 2, 3])|None", "std=True|None|np.ones(3)"),
            *("brightness=0|0.1", "hue=0|0.2", "pca_noise=0|0.1", "rand_mirror=True|False"),
            *("rand_gray=0|0.2", "inter_method=0|1|2", "rand_crop=True|False", "contrast=0"),
        )
        program.add(f"[type(a).__name__ for a in {made}]", f"[a.dumps() for a in {made}][:2]")


def image_iterators(program):
    """ImageIter and ImageDetIter over images in files and records."""
    program.add(SHOW, DESCRIBE, "header = mx.recordio.IRHeader")
    n = program.random.randint(2, 5)
    program.add(
        f"pictures = [np.random.randint(0, 256, (6, 5, 3)).astype('uint8') for i in range({n})]",
        PNG,
        "packed = [mx.recordio.pack(header(0, float(i), i, 0), png(p))"
        " for i, p in enumerate(pictures)]",
        "n = [open('%d.png' % i, 'wb').write(mx.recordio.unpack(p)[1])"
        " for i, p in enumerate(packed)]",
        "w = mx.recordio.MXIndexedRecordIO('i.idx', 'i.rec', 'w')",
        "[w.write_idx(i, p) for i, p in enumerate(packed)]",
        "w.close()",
        f"n = open('i.lst', 'w').write(''.join('%d\\t%d\\t%d.png\\n' % (i, i * 2, i) for i in range({n})))",
    )
    source = program.pick(
        *("path_imgrec='i.rec', path_imgidx='i.idx'", "path_imgrec='i.rec'"),
        *(
            "path_imglist='i.lst', path_root='.'",
            "imglist=[[1, '0.png'], [2, '1.png']], path_root='.'",
        ),
        "imglist=[[1, 5, '0.png'], [2, 6, '1.png']], path_root='.', label_width=2",
        "" if program.chance(0.2) else "path_imgrec='i.rec', path_imgidx='i.idx'",
    )
    made = program.call(
        *("mx.image.ImageIter", 2, "batch_size=1|2", "data_shape=(3, 6, 5)|(3, 4, 4)|(3, 3, 2)"),
        *(
            "shuffle=False",
            "last_batch_handle='pad'|'discard'|'roll_over'",
            "dtype='float32'|'uint8'",
        ),
        *(
            "part_index=0|1",
            "num_parts=1|2",
            "data_name='data'|'x'",
            "label_name='softmax_label'|'y'",
        ),
        *("aug_list=[]|[mx.image.CastAug()]|[mx.image.ForceResizeAug((5, 6), 0)]", "mean=True"),
        *("rand_mirror=False", "inter_method=0"),
        keywords=True,
    )
    made = made[:-1] + (f", {source})" if source else ")")
    program.add(f"it = {made}")
    iterate(program, "it", 4, 8)
    program.some(0, 2, "it.hard_reset()", "it.next_sample()", "it.cur", "it.seq", "it.num_image")
    program.add("it.reset()", "[show(b) for b in it]")


def detection(program):
    """ImageDetIter and its augmenters without random values."""
    program.add(SHOW, DESCRIBE)
    n = program.random.randint(2, 4)
    box = "%d, .1, .2, .5, .%d"
    labels = [
        "[2, 5, " + ", ".join(box % (j, 6 + j) for j in range(program.pick(1, 2, 3))) + "]"
        for _ in range(n)
    ]
    program.add(
        f"labels = [{', '.join(labels)}]",
        f"pictures = [np.random.randint(0, 256, (6, 5, 3)).astype('uint8') for i in range({n})]",
        PNG,
        "pack = lambda i: mx.recordio.pack(mx.recordio.IRHeader(0, labels[i], i, 0),"
        " png(pictures[i]))",
        "w = mx.recordio.MXIndexedRecordIO('d.idx', 'd.rec', 'w')",
        f"[w.write_idx(i, pack(i)) for i in range({n})]",
        "w.close()",
    )
    made = program.call(
        *("mx.image.ImageDetIter", 2, "batch_size=1|2", "data_shape=(3, 6, 5)|(3, 4, 4)"),
        *("path_imgrec='d.rec'", "path_imgidx='d.idx'", "shuffle=False", "data_name='data'|'x'"),
        *("label_name='label'|'y'", "last_batch_handle='pad'|'discard'|'roll_over'"),
        "aug_list=[]|[mx.image.DetHorizontalFlipAug(1)]"
        "|[mx.image.DetBorrowAug(mx.image.ForceResizeAug((5, 6), 0))]",
        *("mean=True", "inter_method=0"),
        keywords=True,
    )
    if "path_imgrec" not in made:
        made = made[:-1] + ", path_imgrec='d.rec', path_imgidx='d.idx')"
    program.add(f"it = {made}")
    program.some(
        4,
        8,
        *choices(r"""
        show(next(it))
        show(it.next())
        it.reset()
        describe(it.provide_label)
        [show(b) for b in it]
        it.label_shape
        it.data_shape
        describe(it.provide_data)
        it.reshape(data_shape=(3, 5, 5))
        it.reshape(label_shape=(4, 5))
        it.reshape()
        it.reshape(None, (1, 5))
        it.check_label_shape((5, 5))
        len(it.auglist)
        it.sync_label_shape(it)
    """),
    )


# ── Text ────────────────────────────────────────────────────────────────────────────────────


def text(program):
    """Counts of tokens, vocabularies and embeddings from files."""
    program.add("import collections", "text = mx.contrib.text")
    words = [
        program.pick("a", "b", "c", "D", "d", "e") for _ in range(program.random.randint(3, 12))
    ]
    source = program.pick(" ", "\\n", "  ").join(words)
    program.add(
        "counts = "
        + program.call(
            *(
                "text.utils.count_tokens_from_str",
                1,
                f"source_str='{source}'",
                "token_delim=' '|','",
            ),
            *("seq_delim='\\n'|';'", "to_lower=True|False"),
            "counter_to_update=collections.Counter({'a': 2})|collections.Counter()",
        )
    )
    program.add(
        "vocab = "
        + program.call(
            *("text.vocab.Vocabulary", 0, "counter=counts|None|counts|counts"),
            *("most_freq_count=None|2|1|0", "min_freq=1|2|0", "unknown_token='<unk>'|'a'|'?'"),
            "reserved_tokens=None|['<pad>']|['<pad>', '<bos>']|['<unk>']|['<pad>', '<pad>']",
        )
    )
    program.some(
        3,
        6,
        *choices(r"""
        len(vocab)
        vocab.token_to_idx
        vocab.idx_to_token
        vocab.unknown_token
        vocab.reserved_tokens
        vocab.to_indices('a')
        vocab.to_indices(['a', 'zz'])
        vocab.to_tokens(0)
        vocab.to_tokens([0, 1])
        vocab.to_tokens(99)
        vocab.to_tokens([1, 99])
        vocab.to_indices(3)
        vocab.to_tokens('a')
        vocab.to_indices([])
    """),
    )
    delimiter = program.pick(" ", ",")
    lines = [
        delimiter.join([word, *(str(program.random.randint(0, 9)) for _ in range(2))])
        for word in program.random.sample("abcdef", program.random.randint(1, 4))
    ]
    if program.chance(0.2):
        lines.append(
            program.pick(
                lines[0], "z" + delimiter + "1", "<unk>" + delimiter + "5" + delimiter + "6"
            )
        )
    program.add(f"n = open('e.txt', 'w').write({chr(10).join(lines)!r})")
    made = program.call(
        *(
            "text.embedding.CustomEmbedding",
            1,
            "pretrained_file_path='e.txt'|'e.txt'|'e.txt'|'no.txt'",
        ),
        *(
            f"elem_delim='{delimiter}'",
            "encoding='utf8'",
            "init_unknown_vec=mx.nd.ones|mx.nd.zeros",
        ),
        "vocabulary=vocab|None",
    )
    if delimiter == "," and "elem_delim" not in made:
        made = made[:-1] + ", elem_delim=',')"
    program.add(f"emb = {made}")
    program.some(
        4,
        9,
        *choices(r"""
        emb.vec_len
        emb.idx_to_vec
        len(emb)
        emb.idx_to_token
        emb.token_to_idx
        emb.get_vecs_by_tokens('a')
        emb.get_vecs_by_tokens(['a', 'D', 'zz'])
        emb.get_vecs_by_tokens(['a', 'D'], lower_case_backup=True)
        emb.update_token_vectors('a', mx.nd.array([7, 8]))
        emb.update_token_vectors(['b', 'a'], mx.nd.array([[7, 8], [1, 2]]))
        emb.update_token_vectors(['b', 'a'], mx.nd.array([7, 8]))
        emb.update_token_vectors('nope', mx.nd.array([7, 8]))
        emb.update_token_vectors('<unk>', mx.nd.array([7, 8]))
        emb.unknown_token
        emb.reserved_tokens
        emb.to_indices(['a', 'zz'])
        emb.to_tokens(1)
        text.embedding.CompositeEmbedding(vocab, emb).idx_to_vec
        text.embedding.CompositeEmbedding(vocab, [emb, emb]).idx_to_vec
        text.embedding.CompositeEmbedding(vocabulary=vocab, token_embeddings=[emb]).vec_len
        sorted(text.embedding.get_pretrained_file_names())
        text.embedding.create('none')
        len(text.embedding.get_pretrained_file_names('glove'))
    """),
    )


# ── Contexts, names, attributes, registries ─────────────────────────────────────────────────


def scopes(program):
    """Contexts, names and attributes, and the scopes that give them."""
    program.some(
        2,
        5,
        *choices(r"""
        mx.cpu()
        mx.cpu(1)
        mx.Context('cpu', 2)
        mx.current_context()
        mx.gpu(0)
        mx.cpu(0) == mx.Context('cpu')
        hash(mx.cpu(0)) == hash(mx.cpu(0))
        mx.cpu_pinned()
        mx.Context(mx.cpu(1))
        mx.Context('none')
        mx.context.num_gpus()
        mx.cpu().device_type, mx.cpu(1).device_id, mx.cpu().device_typeid
        repr(mx.cpu(3))
        mx.Context.devtype2str[3]
        mx.Context.devstr2type['gpu']
        mx.Context.default_ctx
        mx.cpu('a')
        mx.cpu() != mx.gpu()
        mx.cpu() == 'cpu(0)'
        mx.context.num_gpus()
        {mx.cpu(): 1}[mx.cpu(0)]
        mx.context.current_context()
        mx.Context('gpu', 1)
        mx.Context(device_type='cpu', device_id=1)
        mx.Context(1, 0)
        mx.Context('cpu', '1')
        mx.cpu().empty_cache()
        mx.Context('cpu_shared', 0)
    """),
    )
    program.add("seen = []")
    program.some(
        *(1, 3, "with mx.cpu(2): seen.append(str(mx.nd.ones((1,)).context))"),
        "with mx.Context('cpu', 1), mx.cpu(3): seen.append(str(mx.current_context()))",
        "with mx.cpu(1) as c: seen.append((str(c), str(mx.nd.zeros((1,)).context)))",
        "with mx.cpu(1): raise KeyError('x')",
        "mx.current_context()",
    )
    program.add("seen")
    program.some(
        2,
        5,
        *choices(r"""
        with mx.name.Prefix('p_'): s = mx.sym.FullyConnected(mx.sym.var('d'), num_hidden=1)
        with mx.name.NameManager(): s = mx.sym.relu(mx.sym.var('d'))
        with mx.name.Prefix('a_'), mx.name.Prefix('b_'): s = mx.sym.relu(mx.sym.var('d'))
        with mx.AttrScope(ctx_group='dev1', lr_mult='2'): s = mx.sym.relu(mx.sym.var('d', attr={'a': 'b'}))
        with mx.AttrScope(x='1'), mx.AttrScope(x='2', y='3'): s = mx.sym.var('d')
        with mx.AttrScope(__lr_mult__='1'): s = mx.sym.FullyConnected(mx.sym.var('d'), num_hidden=1, name='fc')
        with mx.AttrScope(x=1): s = mx.sym.var('d')
        with mx.attribute.AttrScope(group='4', data='great'): s = mx.sym.var('d', lr_mult=1, dtype='float16')
        s = mx.sym.relu(mx.sym.var('d'), name='r', attr={'__shape__': '(1,)'})
        s = mx.sym.var('d', stype='csr', shape=(2, 3), wd_mult=0.5, init=mx.init.One())
        s = mx.sym.var('d', attr='x')
    """),
    )
    program.add(
        "s",
        "sorted((n, sorted(a.items())) for n, a in s.attr_dict().items())",
        "sorted(s.list_attr())",
        "s.attr('x'), s.attr('ctx_group')",
    )
    program.some(
        1,
        4,
        *choices(r"""
        mx.name.NameManager().get(None, 'fc')
        mx.name.Prefix('q_').get('n', 'fc')
        mx.name.Prefix('q_').get(None, 'fc')
        mx.AttrScope(a='b').get({'c': 'd'})
        mx.AttrScope(a='b').get(None)
        mx.AttrScope().get(None)
        mx.AttrScope(a='b').get({'a': 'z'})
        [mx.name.NameManager().get(None, h) for h in 'xx']
        manager = mx.name.NameManager()
        [mx.name.NameManager.current.get('n', 'h')]
    """),
    )


REGISTRY = """class Base(object):
    def __init__(self, x=1):
        self.x = x
"""


def registries(program):
    """mx.registry over a class of the program's own, and classes registered in mx's."""
    program.add(REGISTRY)
    program.add(
        "register = mx.registry.get_register_func(Base, 'thing')",
        "alias = mx.registry.get_alias_func(Base, 'thing')",
        "create = mx.registry.get_create_func(Base, 'thing')",
        "class One(Base): pass",
        "class Two(Base): pass",
        "One = register(One)",
    )
    program.some(
        5,
        9,
        *choices(r"""
        create('one').x
        create('ONE', 3).x
        create('one', x=4).x
        create('none')
        create('["one", {"x": 5}]').x
        create('{"thing": "one", "x": 6}').x
        create(One(7)).x
        create(One(7), 3)
        create(thing='one').x
        Two = alias('two', 'zwei')(Two)
        create('zwei', 2).x
        Two = register(Two, 'named')
        create('named').x
        register(int)
        sorted(mx.registry.get_registry(Base))
        create(3)
        register(3)
        create('["one"]')
        create('one', y=1)
        register.__name__, alias.__name__, create.__name__
    """),
    )
    if program.chance(0.6):
        program.add(
            "class Sum(mx.metric.EvalMetric):\n"
            "    def __init__(self, name='sum', output_names=None, label_names=None):\n"
            "        super(Sum, self).__init__(name, output_names, label_names)\n"
            "    def update(self, labels, preds):\n"
            "        for p in preds:\n"
            "            self.sum_metric += float(p.asnumpy().sum())\n"
            "            self.num_inst += 1\n",
            "Sum = mx.metric.register(mx.metric.alias('total')(Sum))",
            "m = mx.metric.create(" + program.pick("'sum'", "'total'", "Sum()") + ")",
            "m.update([], [mx.nd.ones((2,)), mx.nd.ones((3,))])",
            "m.get()[0], float(m.get()[1]), m.num_inst",
            "m.get_config(), str(m)",
        )


# ── Helpers ─────────────────────────────────────────────────────────────────────────────────


def helpers(program):
    """mx.util, mx.base, mx.engine, mx.log, mx.runtime, mx.profiler, mx.libinfo."""
    program.some(
        6,
        14,
        *choices(r"""
        mx.util.is_np_shape()
        mx.util.is_np_array()
        mx.util.set_np_shape(True)
        mx.util.set_np_shape(False)
        mx.is_np_shape()
        mx.util.getenv('NONE')
        mx.util.setenv('X', '1'), mx.util.getenv('X')
        with mx.util.np_shape(True): n = mx.nd.ones((0, 2)).shape
        mx.util.get_gpu_count()
        mx.util.get_gpu_memory(0)
        mx.util.use_np_shape(lambda: mx.is_np_shape())()
        mx.util.set_np_shape('a')
        mx.util.set_np_shape(2)
        mx.util.reset_np()
        mx.base.py_str(b'abc')
        mx.base.c_str('abc').value
        mx.base.string_types
        isinstance(np.float32(1), mx.base.numeric_types)
        mx.base.py_str('abc')
        mx.base.c_str(b'abc')
        mx.base.mx_uint(3).value
        list(mx.base.c_array(mx.base.mx_uint, [1, 2]))
        mx.base.mx_real_t
        mx.base.mx_uint(2).value
        isinstance(mx.base.MXNetError('x'), RuntimeError)
        mx.base.MXNetError('a', 1).args
        mx.MXNetError is mx.base.MXNetError
        mx.base.build_param_doc(['a'], ['int'], ['the a'])
        mx.base.check_call(0)
        mx.base.check_call(-1)
        mx.base._Null
        mx.engine.set_bulk_size(5)
        mx.engine.set_bulk_size(15)
        mx.engine.set_bulk_size('a')
        with mx.engine.bulk(3): n = (mx.nd.ones((2,)) + 1).asnumpy()
        mx.engine.bulk()
        mx.log.getLogger('a').name, mx.log.getLogger('a').level
        mx.log.get_logger('b', level=10).level
        mx.log.getLogger('c', level=mx.log.INFO) is mx.log.getLogger('c')
        mx.log.DEBUG, mx.log.WARNING
        mx.log.getLogger('d', 'd.log', 'w', mx.log.INFO).info('x')
        mx.log.getLogger().name
        mx.runtime.Features().is_enabled('CUDA')
        mx.runtime.Features().is_enabled('none')
        type(mx.runtime.feature_list()[0]).__name__
        'CUDA' in mx.runtime.Features()
        mx.runtime.Features()['CUDA'].enabled
        str(mx.runtime.Features()['CUDNN'])
        mx.libinfo.__version__
        mx.runtime.Features().keys() >= {'CUDA'}
        mx.profiler.set_config(profile_all=True, filename='p.json')
        mx.profiler.set_config(other=1)
        mx.profiler.set_state('stop')
        mx.profiler.set_state('none')
        mx.profiler.pause()
        mx.profiler.resume()
        mx.profiler.set_config(aggregate_stats=True)
        mx.profiler.pause('worker')
        str(mx.profiler.Domain('d'))
        str(mx.profiler.Domain('d').new_task('t'))
        mx.profiler.Task('a')
        counter = mx.profiler.Domain('d').new_counter('c', 3)
        counter += 2
        counter.increment(1)
        counter.decrement()
        counter.set_value(5)
        str(counter)
        counter -= 1
        mx.profiler.Domain('d').new_marker('m').mark('process')
        mx.profiler.Event('e').start()
        mx.profiler.Domain('d').new_frame('f').stop()
        mx.profiler.Domain(name='d').new_counter('c')
        mx.profiler.profiler_set_config(mode='all', filename='q.json')
        mx.profiler.profiler_set_state('stop')
        mx.profiler.Domain('d').new_marker('m').mark()
        mx.profiler.Domain('d').new_marker('m').mark('x')
        mx.nd.waitall()
        mx.kv.create().rank
        mx.test_utils.default_dtype()
        mx.random.seed('a')
        mx.random.seed(3, ctx='all')
        mx.random.seed(3, mx.cpu())
        mx.random.seed(seed_state=4)
        mx.random.seed()
        mx.random.seed(2.5)
    """),
    )
    program.add("mx.util.set_np_shape(False)")


TESTERS = choices(r"""
    mx.test_utils.same({a}, {b})
    mx.test_utils.almost_equal({a}.asnumpy(), {b}.asnumpy())
    mx.test_utils.same({a}, {a})
    mx.test_utils.almost_equal({a}.asnumpy(), {b}.asnumpy(), rtol=0.5, atol=1)
    mx.test_utils.assert_almost_equal({a}, {b})
    mx.test_utils.assert_almost_equal({a}, {a}, 1e-3, 1e-3, ('x', 'y'))
    mx.test_utils.random_arrays()
    mx.test_utils.assert_almost_equal({a}, {b}, rtol=10, atol=10)
    mx.test_utils.random_arrays((2, 3)).shape
    mx.test_utils.assert_almost_equal({a}, {b}, equal_nan=True)
    mx.test_utils.default_context()
    mx.test_utils.assert_almost_equal_ignore_nan({a}.asnumpy(), {b}.asnumpy())
    mx.test_utils.assert_allclose({a}, {a})
    mx.test_utils.assert_almost_equal({a}, {b}[:1], 1, 9)
    mx.test_utils.assert_almost_equal_with_err({a}, {b}, 1e-5, 1e-5, etol=1)
    mx.test_utils.get_rtol()
    mx.test_utils.assert_almost_equal_with_err({a}, {b}, etol=0.1)
    mx.test_utils.get_atol(0.5)
    mx.test_utils.get_rtol(None, np.dtype('float16'))
    mx.test_utils.get_etol()
    mx.test_utils.get_etol(.3)
    mx.test_utils.default_rtols()[np.dtype('float32')]
    mx.test_utils.default_atols()[np.dtype('float16')]
    mx.test_utils.rand_shape_2d()
    mx.test_utils.rand_shape_2d(3, 4)
    mx.test_utils.rand_shape_3d(2, 3, 4)
    list(map(int, mx.test_utils.rand_shape_nd(4)))
    list(map(int, mx.test_utils.rand_shape_nd(num_dim=2, dim=3)))
    mx.test_utils.rand_ndarray((2, 3)).shape
    mx.test_utils.rand_ndarray((4, 3), 'csr', 0.5).stype
    mx.test_utils.rand_ndarray((4, 3), 'row_sparse', density=1).asnumpy().shape
    mx.test_utils.random_sample([1, 2, 3], 2)
    mx.test_utils.np_reduce({a}.asnumpy(), 0, True, np.sum)
    mx.test_utils.np_reduce({a}.asnumpy(), (0, 1), False, np.max)
    mx.test_utils.simple_forward(net, data={a})
    mx.test_utils.simple_forward(net, mx.cpu(), True, data={b}.asnumpy())
    mx.test_utils.check_symbolic_forward(net, {'data': {a}}, [{a} * {a}])
    mx.test_utils.check_symbolic_forward(net, [{a}.asnumpy()], [({a} * {a}).asnumpy()], rtol=1e-3, atol=1e-4)
    mx.test_utils.check_symbolic_forward(net, [{a}], [{b}])
    mx.test_utils.check_symbolic_forward(net, [{a}, {b}], [{b}])
    mx.test_utils.check_symbolic_forward(net, {'x': {a}}, [{b}])
    mx.test_utils.check_symbolic_backward(net, [{a}], [{b}], [2 * {a} * {b}])
    mx.test_utils.check_symbolic_backward(net, [{a}], [{b}], {'data': 2 * {a} * {b}}, grad_req={'data': 'add'})
    mx.test_utils.check_symbolic_backward(net, [{a}], {'square_output': {b}}, [{a}])
    mx.test_utils.check_symbolic_backward(net, [{a}], [{b}], [{a}], grad_req='null')
    mx.test_utils.check_numeric_gradient(net, [{a}])
    mx.test_utils.check_numeric_gradient(net, {'data': {a}}, numeric_eps=1e-2, rtol=0.1, atol=0.1, grad_nodes=['data'])
    mx.test_utils.check_numeric_gradient(net, [{a}], grad_nodes={'data': 'add'})
    mx.test_utils.check_numeric_gradient(net, [{a}], dtype=np.float64)
    mx.test_utils.check_numeric_gradient(net, [{a}], grad_nodes=['x'])
    mx.test_utils.check_consistency(net, [dict(ctx=mx.cpu(), data=(2, 3)), dict(ctx=mx.cpu(1), data=(2, 3))]) and None
    mx.test_utils.assert_exception(lambda: 1 / 0, ZeroDivisionError)
    mx.test_utils.assert_exception(lambda: 1, ValueError)
    mx.test_utils.same_array({a}, {a})
    mx.test_utils.same_array({a}, {b})
    mx.test_utils.list_gpus()
    mx.test_utils.same_symbol_structure(net, net)
    mx.test_utils.collapse_sum_like({a}.asnumpy(), (1, 3))
    mx.test_utils.assign_each({a}.asnumpy(), lambda x: x + 1)
    mx.test_utils.assign_each2({a}.asnumpy(), {b}.asnumpy(), max)
    mx.test_utils.create_vector(4)
    mx.test_utils.create_2d_tensor(2, 3)
    mx.test_utils.compare_ndarray_tuple(({a},), ({a},))
    mx.test_utils.set_default_context(mx.cpu(0))
    str(mx.test_utils.effective_dtype({a}))
    mx.test_utils.default_numeric_eps()[np.dtype('float32')]
    mx.test_utils.create_sparse_array((3, 2), 'csr', data_init=2, density=1)
    mx.test_utils.create_sparse_array((3, 2), 'row_sparse', data_init=.5, rsp_indices=[0, 2])
    mx.test_utils.create_sparse_array_zd((3, 2), 'row_sparse', 1, data_init=3, rsp_indices=[1])
    mx.test_utils.rand_sparse_ndarray((3, 2), 'row_sparse', rsp_indices=[0, 2], data_init=1)
    mx.test_utils.rand_sparse_ndarray((3, 2), 'csr', density=0)[0].stype
    mx.test_utils.compare_optimizer(mx.optimizer.SGD(), mx.optimizer.SGD(), [(2, 3)], np.float32), np.random.seed(1)
    mx.test_utils.get_tolerance({a}, None, mx.test_utils.default_rtols())
    mx.test_utils.get_tols({a}, {b}, None, 0.5)
    mx.test_utils.is_op_runnable(), mx.test_utils.is_cd_run(), mx.test_utils.has_tvm_ops()
    mx.test_utils.locationError({a}.asnumpy(), {b}.asnumpy(), (0, 1), ('a', 'b'))
    mx.test_utils.numeric_grad(net.simple_bind(mx.cpu(), data=(2, 3)), {'data': {a}.asnumpy()})
    mx.test_utils.DummyIter(mx.io.NDArrayIter({a}, batch_size=1)).next().data
    mx.test_utils.gen_buckets_probs_with_ppf(lambda x: x, 4)
    bool(mx.test_utils.mean_check(lambda n: np.random.normal(0, 1, n), 0, 1, nsamples=1000))
    bool(mx.test_utils.var_check(lambda n: np.random.normal(0, 1, n), 1, nsamples=1000))
    mx.test_utils.chi_square_check(lambda n: np.random.uniform(0, 1, n), [(0, .5), (.5, 1)], [.5, .5], 1000)[1]
""")


def testers(program):
    """mx.test_utils."""
    values = ("[[1, 2, 3], [4, 5, 6]]", "[[1, 2, 3], [4, 5, 6.5]]", "[[1, 2, 3], [4, 5, 6.000001]]")
    program.add(
        f"a = mx.nd.array({program.pick(*values)})",
        f"b = mx.nd.array({program.pick(*values)})",
        "net = mx.sym.square(mx.sym.var('data'), name='square')",
    )
    if program.chance(0.2):
        program.add("b[0, 1] = np.nan")
    for _ in range(program.random.randint(6, 14)):
        names = [program.pick(n, n, n, f"{n}.asnumpy()") for n in "ab"]
        line = program.pick(*TESTERS)
        if ".asnumpy()" in line or "check_" in line or "same_array" in line:
            names = ["a", "b"]
        program.add(line.replace("{a}", names[0]).replace("{b}", names[1]))


THEMES = [
    *(array_iterators, array_iterators, wrapped_iterators, file_iterators, sentences, batches),
    *(metrics, metrics, composite_metrics, stores, optimizers, optimizers, schedules),
    *(initializers, callbacks, monitors, records, packed_images, images, image_iterators),
    *(detection, text, scopes, registries, helpers, testers, testers),
]
