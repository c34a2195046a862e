"""Random programs over symbols, for `compare_programs.py`: graphs, their names, files and numbers.

A program makes variables, composes operators, recurrent cells, loops and operators of its own
from them, asks what it has made for names, attributes, shapes and JSON, and computes outputs and
gradients. What is known of a symbol while it is drawn is in `Made`; a line that is a mistake
comes from `MISTAKES`, or from an argument that `Draw.either` takes now and then.
"""

from collections import namedtuple

EXCUSED = [
    (
        r"\.infer_(type|shape)(_partial)?\(",
        r"only modkit runs: .*null not valid",
        "defect of the reference: it takes no shapes or types by position",
    ),
    (
        r"infer_(type|shape)(_partial)?\(",
        r"only modkit runs: MXNetError: .*(must be set|must have specified type|is not specified"
        r"|i < ndim\(\)"
        r"|Invalid axis! axis should be between 0 and (-1|0, found axis=-1)"
        r"|axis = 0 out of bounds|out of range: 1|cannot be a negative value -1"
        r"|trying to split .* with shape \[-1"
        r"|Axis should be in the range|Invalid begin, end|Exceeds input dimensions"
        r"|Not enough information to infer|Shape dim size must be known|only accept 2D data"
        r"|end \d is no less than the size of the axis -1|should be 4D|requires exactly 4D)",
        "defect of the reference: operators read what is not known yet",
    ),
    (
        r"infer_(type|shape)(_partial)?\(.*None",
        r"only modkit runs: TypeError: Arguments need to be shapes",
        "None is unknown by name as it is by position",
    ),
    (
        r"Group|list_arguments",
        r"got \['(\w+)'\], expected \['\1', '\1'\]",
        "optimize_for returns the graph itself, in MXNet a copy with variables of its own",
    ),
    (
        r"_cond|nodes|list_attr",
        r"got '\[\d\]', expected '\[\d\]'",
        "inputs of `cond` are listed once",
    ),
    (
        r"= s\d+\(.*s\d+|_compose\(",
        r"only the reference runs: (ParameterError: compose: name the variable|"
        r"NameNotFoundError: compose: .* is a variable)",
        "defect of the reference: it makes a variable with inputs",
    ),
    (
        r"= s\d+\(.*s\d+",
        r"only the reference runs: NameNotFoundError: compose: no variable .* There are: none$",
        "meant: nothing stands for the symbol; MXNet drops it",
    ),
    (
        r"^s\d+ = s\d+\(\)$",
        r"^got \[.*\], expected \['data', ",
        "defect of the reference: a variable with an input",
    ),
    (
        r"grad_(dict|arrays)",
        r"^got 0 at .* expected (nan|\S+e[-+]\d+)$",
        "defect of the reference: LayerNorm's statistics alone have gradients that it never wrote",
    ),
    (
        r"print_summary",
        r"only modkit runs: IndexError: tuple index out of range",
        "defect of the reference: it counts parameters by the second axis of any shape",
    ),
    (
        r"begin_state\((func=|mx)",
        r"only modkit runs: TypeError: begin_state\(\) (got multiple values for argument 'func'"
        r"|takes 1 positional)",
        "modifiers take `func` as other cells do, besides MXNet's `init_sym`",
    ),
    (
        r"grad_dict",
        r"only modkit runs: TypeError: 'NoneType' object is not iterable",
        "defect of the reference: an executor without gradients has no dictionary of them",
    ),
    (
        r"grad_(dict|arrays)|arg_arrays",
        r"got 0 at \(.*, expected 0\.7$",
        "defect of the reference: gradients of labels are not written",
    ),
    (
        r"simple_bind",
        r"only modkit runs: RuntimeError: grad_req in simple_bind cannot be an empty list",
        "an empty list for a graph without arguments",
    ),
    (
        r"grad_(dict|arrays)",
        r"got 0\.7 at \(.*, expected 0\.(35|233333|175|14)$",
        "defect of the reference: the gradient of `moments` divides what it is added to",
    ),
    (
        r"infer_shape(_partial)?\(",
        r"got None, expected \('list', \[(\('tuple', \[\]\)(, )?)+\]\)",
        "defect of the reference: outputs of custom operators are known to be () where nothing is",
    ),
    (
        r"simple_bind\(mx\.cpu\(\)\)",
        r"only the reference runs: ShapeError: .*cannot decide the shape of .*custom\d+_other",
        "the same",
    ),
    (
        r"backward\(",
        r"only the reference runs: .*output 'layernorm\d+_(std|mean)' is not a loss",
        "defect of the reference: nothing goes back from LayerNorm's mean and deviation",
    ),
    (
        r"infer_shape(_partial)?\(",
        r"only the reference runs: ShapeError: .*operator _(cond|foreach|while_loop) of node",
        "modkit infers shapes in the bodies of loops and branches too",
    ),
    (
        r"infer_|^r\d+$",
        r"got .*, expected (\[\]|None|0|-1)$",
        "modkit infers sizes where MXNet infers none",
    ),
    (
        r"infer_|^r\d+$",
        r"got \[\], expected \[",
        "defect of the reference: `stack` and its kin invent a rank where none is known",
    ),
    (
        r"infer_type",
        r"only modkit runs: MXNetError: .*Incompatible attr in node .* at 1-th input",
        "meant: labels may be of any type",
    ),
    (
        r"infer_type",
        r"got None, expected (\('list', \[)?\('class', 'float32'\)",
        "a few layers of MXNet (InstanceNorm, Crop, IdentityAttachKLSparseReg, proposals) are "
        "float32 where nothing is known",
    ),
    (
        r"outputs|output_dict|forward",
        r"got \('default', 'cpu\(0\)'\), expected \('default', 'cpu\(1\)'\)",
        "a node without a group and without inputs runs in the context of the executor",
    ),
    (
        r"args_grad",
        r"only the reference runs: ShapeError: bind: the gradient of",
        "meant: a gradient has the shape of its argument, in a graph without operators too",
    ),
    (
        r"forward\(|infer_type",
        r"only modkit runs: MXNetError: .*(data type do not match specified|Unsupported data) type",
        "defect of the reference: several operators compute in float32 only",
    ),
    (
        r"json\.loads",
        r"got 1, expected 0",
        "versions of inputs, which nothing reads",
    ),
    (
        r"nodes",
        r"got 'Convolution', expected 'Convolution_v1'",
        "an old name of the operator, whose files say the newer one",
    ),
    (
        r"(get_backend_symbol|optimize_for)\('default'",
        r"only modkit runs: MXNetError: .*Cannot find attribute op_names",
        "meant: `get_backend_symbol` leaves the symbol as it is",
    ),
    (
        r"forward\(",
        r"^got 0\.00316228 at",
        "defect of the reference: LayerNorm's deviation, alone, is not written",
    ),
    (
        r"bind\(",
        r"only modkit runs: .*storage_type_num_unknown_nodes",
        "defect of the reference: gradients of loops whose body reads a constant",
    ),
    (
        r"backward\(",
        r"only modkit runs: MXNetError: .*Embedding layer doesn't support calculate data gradient",
        "the gradient of integers is 0",
    ),
    (
        r"\.attr\(3\)",
        r"only modkit runs: AttributeError: 'int' object",
        "there is no attribute of that name",
    ),
    (
        r"forward\(",
        r"only modkit runs: MXNetError: .*rnn-inl\.h",
        "defect of the reference's build: no states leave a fused network on its CPUs",
    ),
    (
        r"simple_bind\(",
        r"only modkit runs: RuntimeError: .*InferShape pass cannot decide shapes"
        r".*inputs:( free: None,)?$",
        "modkit infers shapes through the bodies of loops and branches and back",
    ),
    (
        r"bind\(|\.eval\(",
        r"only the reference runs: ParameterError: (simple_)?bind: got two variables with the name",
        "meant: `Symbol.bind` says so under Differs",
    ),
    (
        r"_gen_atomic_symbol",
        r"only the reference runs: ParameterError: _(foreach|while_loop|cond): got no graphs",
        "a loop without a body",
    ),
    (
        r"_gen_atomic_symbol",
        r"only modkit runs: MXNetError: .*only works for nongrouped symbol",
        "the operator of the first output",
    ),
    (
        r"bind\(",
        r"only modkit runs: .*Trying to save gradient to cpu\(\d\) while its source",
        "defect of the reference: a gradient is computed in another group than its variable's",
    ),
    (
        r"bind\(",
        r"only modkit runs: .*Invalid Parameter format for axis .*_backward_topk",
        "defect of the reference: `sort` without an axis has no gradient in a graph",
    ),
    (
        r"nodes",
        r"got '(foreach|while_loop|cond)\d+', expected '\1\d+'",
        "counted over the whole process, which may be another one",
    ),
    (
        r"infer_",
        r"only modkit runs: MXNetError: .*pad-inl.*only supports 4-D or 5-D",
        "Differs: any array is padded",
    ),
    (
        r"",
        r"only modkit runs: MXNetError: .*Cannot transpose vectors",
        "a vector is its own transpose",
    ),
]

ENDS = [
    (
        r"backward\(\)",
        r"is not a loss",
        "moving statistics change in the reference's backward pass",
    ),
]

Made = namedtuple("Made", "word shapes feeds")
"""A symbol: its word in the program, the shape of each output (``None``: not known; the tuple is
``None`` where even their number is not known), and the shapes of the variables by name."""

NAMES = ("data", "x", "a", "b", "w", "label", "left", "Right", "in.put", "v_1", "_u")
SHAPES = ((2, 3), (3,), (2, 3, 4), (2, 4, 5, 5), (1, 3), (4, 4), (2, 1), (3, 2))
START = (
    "import contextlib, copy, io, json, pickle",
    """class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 3)""",
    """@mx.operator.register('twice')
class TwiceProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Twice()""",
    """class Pair(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + in_data[1] + aux[0])
        self.assign(out_data[1], req[1], in_data[0] * in_data[1])
        aux[0][:] += 1
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] + out_grad[1] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] + out_grad[1] * in_data[0])""",
    """@mx.operator.register('pair')
class PairProp(mx.operator.CustomOpProp):
    def __init__(self, mode='plain'):
        super().__init__(need_top_grad=True)
        self.mode = mode
    def list_arguments(self):
        return ['one', 'other']
    def list_outputs(self):
        return ['sum', 'product']
    def list_auxiliary_states(self):
        return ['calls']
    def infer_shape(self, shapes):
        return [shapes[0], shapes[0]], [shapes[0], shapes[0]], [shapes[0]]
    def create_operator(self, ctx, shapes, dtypes):
        return Pair()""",
)
NODES = (
    "[(n['op'], n['name'], sorted(n.get('attrs', {{}}).items()), n['inputs'])"
    " for n in json.loads({0}.tojson())['nodes']]"
)
ATTRIBUTES = "sorted((k, sorted(v.items())) for k, v in {0}.attr_dict().items())"
FILL = "for k, v in sorted({0}.items()): v[:] = np.random.uniform(0.2, 1.9, v.shape)"

BACKWARD = (
    "backward([mx.nd.ones(o.shape) for o in {0}.outputs])",
    "backward([mx.nd.ones(o.shape) * 2 for o in {0}.outputs])",
    "backward(out_grads=[mx.nd.ones(o.shape) for o in {0}.outputs])",
    "backward()",
)

EXECUTOR_QUERIES = (
    "sorted({0}.aux_dict.items())",
    "{0}.output_dict",
    "{0}.outputs",
    "{0}.arg_arrays",
    "{0}.aux_arrays",
    "[g is None for g in {0}.grad_arrays]",
    "sorted({0}.arg_dict)",
    "[a.dtype for a in {0}.arg_arrays]",
    "[a.context for a in {0}.arg_arrays]",
    "[a.stype for a in {0}.outputs]",
    "{0}.copy_params_from({{}})",
    "{0}.copy_params_from({{'absent': mx.nd.ones((2,))}})",
    "{0}.copy_params_from({{'absent': mx.nd.ones((2,))}}, allow_extra_params=True)",
)

# Lines that show a symbol
QUERIES = (
    "{0}.list_arguments()",
    "{0}.list_outputs()",
    "{0}.list_inputs()",
    "{0}.list_auxiliary_states()",
    ATTRIBUTES,
    "sorted({0}.list_attr().items())",
    "{0}.name",
    "len({0})",
    "repr({0})",
    "str({0}.get_children())",
    "{0}.get_internals().list_outputs()",
    "{0}.debug_str()",
    "[o.name for o in {0}]",
    "[o.list_outputs() for o in {0}]",
    NODES,
    NODES,
    "json.loads({0}.tojson())['heads']",
    "json.loads({0}.tojson())['arg_nodes']",
    "json.loads({0}.tojson())['attrs']",
    "sorted(json.loads({0}.tojson()))",
    "len(json.loads({0}.tojson())['node_row_ptr'])",
    "{0}.tojson() == mx.sym.load_json({0}.tojson()).tojson()",
    "{0}.attr('name')",
    "{0}.attr('lr_mult')",
    "{0}.attr('__lr_mult__')",
    "{0}.attr('ctx_group')",
    "{0}.infer_type()",
    "{0}.infer_type_partial()",
    "{0}.infer_shape()",
    "{0}.infer_shape_partial()",
    "hash({0}) == hash({0})",
    "type({0})",
    "({0} == {0}).list_arguments()",
    "{0}.get_internals()[0].name",
    "{0}.get_internals()[{0}.get_internals().list_outputs()[-1]].list_outputs()",
    "[c.name for c in {0}.get_children() or []]",
    "{0}.get_children().list_outputs()",
)

# Copies of a symbol
COPIES = (
    "copy.copy({0})",
    "copy.deepcopy({0})",
    "{0}.__copy__()",
    "pickle.loads(pickle.dumps({0}))",
    "mx.sym.load_json({0}.tojson())",
    "mx.sym.load_json({0}.tojson())",
    "mx.sym.load_json({0}.tojson().replace('attrs', 'attr'))",
    "mx.sym.load_json({0}.tojson().replace('attrs', 'param'))",
    "mx.sym.load_json(json.dumps({{k: v for k, v in json.loads({0}.tojson()).items() if k != "
    "'attrs'}}))",
    "mx.sym.load_json({0}.tojson().replace('10901', '800'))",
    "{0}.get_internals()",
    "{0}.get_internals()[-1]",
    "{0}[0:1]",
    "{0}[:]",
    "{0}.get_backend_symbol('default')",
    "{0}.optimize_for('TensorRT')",
    "mx.sym.Group([{0}])",
    "mx.sym.Group({0})",
    "mx.sym.Group(list({0}))",
)

# Layers by rank of their input: (call, shape of the result from the shape of the input)
LAYERS = {
    2: (
        ("FullyConnected({0}, num_hidden=3{1})", lambda s: (s[0], 3)),
        ("FullyConnected(data={0}, num_hidden=2, no_bias=True{1})", lambda s: (s[0], 2)),
        ("SoftmaxOutput({0}{1})", lambda s: s),
        ("SoftmaxActivation({0}{1})", lambda s: s),
        ("LinearRegressionOutput({0}{1})", lambda s: s),
        ("LinearRegressionOutput(data={0}, label=mx.sym.Variable('target'){1})", lambda s: s),
        ("LogisticRegressionOutput({0}, grad_scale=0.5{1})", lambda s: s),
        ("SVMOutput({0}{1})", lambda s: s),
        ("BatchNorm({0}{1})", lambda s: s),
        ("BatchNorm({0}, fix_gamma=False, eps=1e-3, momentum=0.8{1})", lambda s: s),
        ("LayerNorm({0}{1})", lambda s: s),
        ("L2Normalization({0}{1})", lambda s: s),
        ("transpose({0}{1})", lambda s: s[::-1]),
        ("expand_dims({0}, axis=1{1})", lambda s: (s[0], 1, s[1])),
        ("Embedding({0}, input_dim=4, output_dim=2{1})", lambda s: (*s, 2)),
        ("dot({0}, {0}, transpose_b=True{1})", lambda s: (s[0], s[0])),
        ("Concat({0}, {0}, dim=1{1})", lambda s: (s[0], 2 * s[1])),
        (
            "FullyConnected(data={0}, weight=mx.sym.Variable('shared_w'), num_hidden=3{1})",
            lambda s: (s[0], 3),
        ),
        (
            "FullyConnected({0}, mx.sym.Variable('own_w', lr_mult=0.2), no_bias=True, "
            "num_hidden=2{1})",
            lambda s: (s[0], 2),
        ),
        ("BatchNorm({0}, moving_mean=mx.sym.Variable('mean'){1})", lambda s: s),
        ("linalg.gemm2({0}, {0}, transpose_b=True{1})", lambda s: (s[0], s[0])),
        ("linalg_syrk({0}, transpose=False{1})", lambda s: (s[0], s[0])),
        ("batch_dot({0}.expand_dims(0), {0}.expand_dims(0), transpose_b=True{1})", None),
        ("pick({0}, mx.sym.zeros(({2},)), axis=1{1})", lambda s: s[:1]),
        ("take({0}, mx.sym.ones((2,), name='at'), axis=0{1})", lambda s: (2, s[1])),
        ("slice({0}, begin=(0, 0), end=(1, None){1})", lambda s: (1, s[1])),
        ("crop({0}, begin=(0, 0), end=(1, 1){1})", lambda s: (1, 1)),
        ("broadcast_to({0}.sum(axis=0, keepdims=True), shape=({2}, {3}){1})", lambda s: s),
        ("Reshape({0}, shape=(0, -1, 1){1})", lambda s: (*s, 1)),
        ("reshape({0}, target_shape=({3}, {2}){1})", lambda s: s[::-1]),
        ("ElementWiseSum({0}, {0}, num_args=2{1})", lambda s: s),
        ("softmax_cross_entropy({0}, mx.sym.zeros(({2},)){1})", lambda s: (1,)),
        ("smooth_l1({0}, scalar=1{1})", lambda s: s),
        ("MAERegressionOutput({0}{1})", lambda s: s),
        ("SequenceMask({0}{1})", lambda s: s),
        ("SequenceLast({0}{1})", lambda s: s[1:]),
        ("SequenceReverse({0}{1})", lambda s: s),
        ("gather_nd({0}, mx.sym.zeros((1, 2)){1})", lambda s: (2, s[1])),
        ("one_hot({0}, depth=2{1})", lambda s: (*s, 2)),
        ("contrib.boolean_mask({0}, {0}.sum(axis=1){1})", None),
        ("contrib.quadratic({0}, a=1, b=2, c=3{1})", lambda s: s),
        ("IdentityAttachKLSparseReg(mx.sym.sigmoid({0}){1})", lambda s: s),
        ("concat({0}, {0}, {0}, dim=0, num_args=3{1})", lambda s: (3 * s[0], s[1])),
        ("Dropout({0}, p=0{1})", lambda s: s),
        ("LeakyReLU({0}, act_type='prelu'{1})", lambda s: s),
        ("Reshape({0}, shape=(-1, 1){1})", lambda s: (s[0] * s[1], 1)),
        ("tile({0}, reps=(2, 1){1})", lambda s: (2 * s[0], s[1])),
    ),
    4: (
        (
            "Convolution({0}, kernel=(3, 3), num_filter=2, pad=(1, 1){1})",
            lambda s: (s[0], 2, *s[2:]),
        ),
        (
            "Convolution(data={0}, num_filter=3, kernel=(1, 1), no_bias=True{1})",
            lambda s: (s[0], 3, *s[2:]),
        ),
        (
            "Deconvolution({0}, kernel=(1, 1), num_filter=2{1})",
            lambda s: (s[0], 2, *s[2:]),
        ),
        ("BatchNorm({0}{1})", lambda s: s),
        ("BatchNorm(data={0}, use_global_stats=True{1})", lambda s: s),
        ("InstanceNorm({0}{1})", lambda s: s),
        ("Pooling({0}, kernel=(1, 1), pool_type='max'{1})", lambda s: s),
        ("Pooling({0}, global_pool=True, pool_type='avg'{1})", lambda s: (*s[:2], 1, 1)),
        ("Flatten({0}{1})", lambda s: (s[0], s[1] * s[2] * s[3])),
        ("LRN({0}, nsize=3{1})", lambda s: s),
        ("Pad({0}, mode='constant', pad_width=(0, 0, 0, 0, 1, 1, 1, 1){1})", None),
        ("Crop({0}, h_w=(1, 1), num_args=1{1})", lambda s: (*s[:2], 1, 1)),
        ("GroupNorm({0}, num_groups=1{1})", lambda s: s),
        ("space_to_depth({0}, block_size=1{1})", lambda s: s),
        ("contrib.AdaptiveAvgPooling2D({0}, output_size=1{1})", lambda s: (*s[:2], 1, 1)),
        ("SoftmaxOutput({0}, multi_output=True{1})", lambda s: s),
        (
            "SpatialTransformer({0}, mx.sym.Variable('affine'), target_shape=(2, 2), "
            "transform_type='affine', sampler_type='bilinear'{1})",
            lambda s: (*s[:2], 2, 2),
        ),
        ("transpose({0}, axes=(0, 2, 3, 1){1})", lambda s: (s[0], s[2], s[3], s[1])),
        ("sum({0}, axis=(2, 3){1})", lambda s: s[:2]),
        (
            "Convolution({0}, mx.sym.Variable('shared_k'), kernel=(1, 1), num_filter=2, "
            "no_bias=True{1})",
            lambda s: (s[0], 2, *s[2:]),
        ),
        ("UpSampling({0}, scale=2, sample_type='nearest'{1})", None),
        ("swapaxes({0}, dim1=1, dim2=2{1})", lambda s: (s[0], s[2], s[1], s[3])),
        ("LeakyReLU({0}, act_type='prelu'{1})", lambda s: s),
    ),
    0: (
        ("Activation({0}, act_type='relu'{1})", lambda s: s),
        ("Activation(data={0}, act_type='tanh'{1})", lambda s: s),
        ("LeakyReLU({0}, act_type='leaky', slope=0.1{1})", lambda s: s),
        ("BlockGrad({0}{1})", lambda s: s),
        ("MakeLoss({0}, grad_scale=2{1})", lambda s: s),
        ("exp({0}{1})", lambda s: s),
        ("sqrt(data={0}{1})", lambda s: s),
        ("identity({0}{1})", lambda s: s),
        ("relu({0}{1})", lambda s: s),
        ("square({0}{1})", lambda s: s),
        ("clip({0}, a_min=0.3, a_max=1.2{1})", lambda s: s),
        ("Flatten({0}{1})", None),
        ("broadcast_add({0}, {0}.max(axis=0, keepdims=True){1})", lambda s: s),
        ("broadcast_plus(lhs={0}, rhs={0}{1})", lambda s: s),
        ("broadcast_greater({0}, {0}{1})", lambda s: s),
        ("broadcast_logical_or({0}, {0}{1})", lambda s: s),
        ("logical_not({0}{1})", lambda s: s),
        ("ones_like(data={0}{1})", lambda s: s),
        ("norm({0}, ord=2, keepdims=True{1})", None),
        ("stop_gradient({0}{1})", lambda s: s),
        ("make_loss({0}{1})", lambda s: s),
        ("elemwise_sub({0}, {0}{1})", lambda s: s),
        ("reverse({0}, axis=0{1})", lambda s: s),
        ("moments({0}, axes=(0,){1})[0]", lambda s: s[1:] or (1,)),
        ("cast_storage({0}, stype='default'{1})", lambda s: s),
        ("amp_cast({0}, dtype='float32'{1})", lambda s: s),
        ("reshape_like({0}, {0}{1})", lambda s: s),
        ("broadcast_like({0}, {0}{1})", lambda s: s),
        ("slice_like({0}, {0}, axes=(0,){1})", lambda s: s),
        ("hard_sigmoid({0}, alpha=0.3{1})", lambda s: s),
        ("_internal._plus_scalar({0}, scalar=2{1})", lambda s: s),
        ("_internal._mul({0}, {0}{1})", lambda s: s),
        ("op.exp({0}{1})", lambda s: s),
        ("sparse.sum({0}, axis=0{1})", lambda s: s[1:] or (1,)),
        ("arccosh({0} + 2{1})", lambda s: s),
        ("gamma({0}{1})", lambda s: s),
        ("round({0}{1})", lambda s: s),
        ("contrib.div_sqrt_dim({0}{1})", lambda s: s),
        ("random.uniform_like({0}{1}) * 0", lambda s: s),
        ("sum({0}, axis=0{1})", lambda s: s[1:] or (1,)),
        ("mean({0}{1})", lambda s: (1,)),
        ("max({0}, axis=0, keepdims=True{1})", lambda s: (1, *s[1:])),
        ("elemwise_add({0}, {0}{1})", lambda s: s),
        ("elemwise_mul(lhs={0}, rhs={0}{1})", lambda s: s),
        ("broadcast_mul({0}, {0}{1})", lambda s: s),
        ("add_n({0}, {0}, {0}{1})", lambda s: s),
        ("ElementWiseSum({0}, {0}{1})", lambda s: s),
        ("Cast({0}, dtype='float32'{1})", lambda s: s),
        ("zeros_like({0}{1})", lambda s: s),
        ("stack({0}, {0}, axis=0, num_args=2{1})", lambda s: (2, *s)),
        ("where({0}, {0}, {0}{1})", lambda s: s),
        ("softmax({0}, axis=-1{1})", lambda s: s),
        ("Custom({0}, op_type='twice')", lambda s: s),
        ("Custom(data={0}, op_type='twice', name='custom')", lambda s: s),
    ),
}

# Methods of a symbol
METHODS = (
    ("exp()", lambda s: s),
    ("sqrt()", lambda s: s),
    ("tanh()", lambda s: s),
    ("abs()", lambda s: s),
    ("square()", lambda s: s),
    ("sigmoid()", lambda s: s),
    ("round()", lambda s: s),
    ("log1p()", lambda s: s),
    ("rsqrt()", lambda s: s),
    ("clip(0.5, 1.5)", lambda s: s),
    ("clip(a_min=0.5, a_max=1.5)", lambda s: s),
    ("astype('float32')", lambda s: s),
    ("astype(np.float32)", lambda s: s),
    ("zeros_like()", lambda s: s),
    ("ones_like()", lambda s: s),
    ("softmax(axis=-1)", lambda s: s),
    ("log_softmax()", lambda s: s),
    ("softmin(axis=0)", lambda s: s),
    ("flip(axis=0)", lambda s: s),
    ("sort()", lambda s: s),
    ("sort(axis=0, is_ascend=False)", lambda s: s),
    ("argsort()", lambda s: s),
    ("sum()", lambda s: (1,)),
    ("sum(axis=0)", lambda s: s[1:] or (1,)),
    ("sum(axis=0, keepdims=True)", lambda s: (1, *s[1:])),
    ("mean(axis=(0,))", lambda s: s[1:] or (1,)),
    ("max(axis=-1)", lambda s: s[:-1] or (1,)),
    ("min()", lambda s: (1,)),
    ("prod(axis=0)", lambda s: s[1:] or (1,)),
    ("nansum()", lambda s: (1,)),
    ("norm()", lambda s: (1,)),
    ("norm(ord=1, axis=0)", lambda s: s[1:] or (1,)),
    ("argmax(axis=0)", lambda s: s[1:] or (1,)),
    ("expand_dims(0)", lambda s: (1, *s)),
    ("expand_dims(axis=-1)", lambda s: (*s, 1)),
    ("squeeze()", None),
    ("flatten()", None),
    ("reshape((-1,))", None),
    ("reshape(shape=(-1,))", None),
    ("reshape((0, -1))", None),
    ("reshape((1, -1), reverse=True)", None),
    ("transpose()", lambda s: s[::-1]),
    ("tile(2)", None),
    ("tile(reps=(2, 1))", None),
    ("repeat(2)", None),
    ("repeat(2, axis=0)", lambda s: (2 * s[0], *s[1:])),
    ("slice(begin=(0,), end=(1,))", lambda s: (1, *s[1:])),
    ("slice_axis(axis=0, begin=0, end=1)", lambda s: (1, *s[1:])),
    ("slice_axis(0, 0, 1)", lambda s: (1, *s[1:])),
    ("shape_array()", None),
    ("size_array()", lambda s: (1,)),
    ("broadcast_axes(axis=0, size=1)", None),
    ("one_hot(3)", lambda s: (*s, 3)),
    ("topk(k=1)", lambda s: (*s[:-1], 1)),
    ("diag()", None),
)

# Loops over the rows of {0} with the state {1}, which has the shape of a row
FOREACH = (
    "foreach(lambda d, s: (d + s, s * 2 + d), {0}, {1}{2})",
    "foreach(lambda d, s: ([d, d * 2], [s[0] + d, s[1] * 2]), {0}, [{1}, {1} + 1]{2})",
    "foreach(lambda d, s: (d[0] * d[1], s), [{0}, {0}], {1}{2})",
    "foreach(body=lambda d, s: (d.exp() + {1}, [s[0] + 1]), data={0}, init_states=[{1}]{2})",
    "foreach(lambda d, s: (d * mx.sym.Variable('free'), s + d), {0}, {1}{2})",
    "foreach(lambda d, s: (d, []), {0}, []{2})",
    "foreach(lambda d, s: ([], s + d), {0}, {1}{2})",
    "foreach(lambda d, s: (mx.sym.broadcast_add({0}, mx.sym.mean(d)), s), {0}, {1}{2})",
    "foreach(lambda d, s: (mx.sym.FullyConnected(d.expand_dims(0), num_hidden=2), s), {0}, {1})",
    "foreach(lambda d, s: d, {0}, {1}{2})",
    "foreach(lambda d, s: (d, 3), {0}, {1}{2})",
    "foreach(lambda d, s: (d, [s, s]), {0}, {1}{2})",
    "foreach(lambda d: (d, d), {0}, {1}{2})",
    "foreach(lambda d, s: (d, s), 3, {1}{2})",
)

# Loops and branches with the symbol {0} and the state {1} of shape (1,)
LOOPS = (
    "while_loop(lambda i, s: i < 3, lambda i, s: ([s], [i + 1, s * 2]), ({1}, {0}), 4{2})",
    "while_loop(cond=lambda i, s: i < 2.5, func=lambda i, s: (s + i, (i + 1, s)), "
    "loop_vars=[{1}, {1}], max_iterations=3{2})",
    "while_loop(lambda i: i < 3, lambda i: (i * mx.sym.Variable('free'), i + 1), {1}, 5{2})",
    "while_loop(lambda i: i < 3, lambda i: ([], [i + 1]), [{1}], 5{2})",
    "while_loop(lambda i, s: i < 3, lambda i, s: ([s], [i + 1]), ({1}, {0}), 4{2})",
    "while_loop(lambda i, s: i < 3, lambda i, s: ([s], [i + 1, s]), ({1}, {0}){2})",
    "cond({0}.sum() < 3, lambda: {0} * 2, lambda: {0} + 1{2})",
    "cond({0}.sum() > 3, lambda: [{0} * 2, {1}], lambda: [{0} + 1, {1} - 1]{2})",
    "cond({0}.sum() > {1}, then_func=lambda: {0} * {1}, else_func=lambda: {0} / 2{2})",
    "cond({0}.sum() > {1}, lambda: mx.sym.Variable('free') * {0}, lambda: {0}{2})",
    "cond({0}.sum() < 3, lambda: [{0}], lambda: [{0}, {0}]{2})",
)

CELLS = (
    "RNNCell(2{0})",
    "RNNCell(num_hidden=2, activation='relu'{0})",
    "LSTMCell(2{0})",
    "LSTMCell(num_hidden=4, forget_bias=0.5{0})",
    "GRUCell(2{0})",
    "GRUCell(num_hidden=4{0})",
    "FusedRNNCell(2, mode='lstm'{0})",
    "FusedRNNCell(2, num_layers=2, mode='gru', get_next_state=True{0})",
    "FusedRNNCell(2, mode='rnn_tanh', bidirectional=True{0})",
    "FusedRNNCell(2, num_layers=2, mode='lstm', bidirectional=True, get_next_state=True{0})",
    "FusedRNNCell(2, mode='rnn_relu', forget_bias=2.0{0})",
    "ConvRNNCell(input_shape=(4, 5, 5), num_hidden=2{0})",
    "ConvLSTMCell(input_shape=(4, 5, 5), num_hidden=2, h2h_kernel=(1, 1){0})",
    "ConvGRUCell((4, 5, 5), 2, i2h_kernel=(1, 1), i2h_pad=(0, 0){0})",
    "DropoutCell(0.0{0})",
)

CELL_QUERIES = (
    "{0}.state_info",
    "{0}.state_shape",
    "list({0}._gate_names)",
    "{0}.begin_state()",
    "{0}.begin_state(func=mx.sym.Variable)",
    "{0}.begin_state(func=mx.sym.ones)",
    "[sorted(s.list_attr().items()) for s in {0}.begin_state()]",
    "{0}.begin_state(batch_size=2)",
    "{0}.reset()",
    "type({0}.params)",
    "{0}.params.get('i2h_weight').name",
    "{0}.unpack_weights({{}})",
    "{0}.pack_weights({{}})",
    "{0}.unfuse()",
    "{0}.output_shape",
    "{0}.unroll(3)",
    "{0}.unroll(2, inputs=[mx.sym.Variable('i')])",
)

SCOPES = (
    "mx.AttrScope(ctx_group='g2')",
    "mx.AttrScope(__lr_mult__='0.2', __mood__='bad')",
    "mx.attribute.AttrScope(__group__='4')",
    "mx.name.Prefix('p_')",
    "mx.name.NameManager()",
    "mx.AttrScope(mirror_stage='True')",
)

SCOPE_QUERIES = (
    "mx.name.NameManager.current.get(None, 'hint')",
    "mx.name.NameManager.current.get('given', 'hint')",
    "mx.name.Prefix('r_').get(None, 'hint')",
    "mx.name.Prefix('r_').get('given', 'hint')",
    "sorted(mx.AttrScope.current.get(None).items())",
    "sorted(mx.AttrScope(a='1').get({{'b': '2'}}).items())",
    "mx.AttrScope(__a__='1').get({{'__a__': '2'}})",
    "mx.AttrScope.current.get({{'b': 2}})",
    "type(mx.name.NameManager.current)",
)

# Nodes of old files: operator, name and parameters
OLD_NODES = (
    ("FullyConnected", "fc1", '"num_hidden": "3", "no_bias": "False"'),
    ("FullyConnected", "fc1", '"num_hidden": "3"'),
    ("Convolution", "conv", '"kernel": "(3, 3)", "num_filter": "2", "workspace": "512"'),
    ("Convolution", "conv", '"kernel": "(1,1)", "num_filter": "2", "stride": "(1,1)"'),
    ("Concat", "cat", '"num_args": "3", "dim": "1"'),
    ("BatchNorm", "bn", '"eps": "0.001", "momentum": "0.9", "fix_gamma": "True"'),
    ("ElementWiseSum", "sum", '"num_args": "3"'),
    ("Convolution_v1", "conv", '"kernel": "(1,1)", "num_filter": "2"'),
)

SCALARS = ("2", "0.5", "-1.5", "3.0", "np.float32(2)", "np.int64(3)", "7", "1e-3")
OPERATIONS = ("+", "-", "*", "/", "**", "%", ">", "<", ">=", "<=", "==", "!=")
TWO_SIDED = ("maximum", "minimum", "hypot", "pow", "power")

# Calls that give several outputs: (call, number of outputs, shape of each)
SEVERAL = (
    ("SliceChannel({0}, num_outputs=2, axis=0{1})", 2, 2, lambda s: (s[0] // 2, *s[1:])),
    ("SliceChannel(data={0}, num_outputs={2}, axis=0, squeeze_axis=True{1})", 0, None, None),
    ("split({0}, num_outputs={2}, axis=0{1})", 0, None, lambda s: (1, *s[1:])),
    ("split_v2({0}, {2})", 0, None, lambda s: (1, *s[1:])),
    ("split_v2({0}, (1,), axis=0)", 2, None, None),
    ("BatchNorm({0}, output_mean_var=True{1})", 3, None, None),
    ("topk({0}, k=1, ret_typ='both'{1})", 2, None, lambda s: (*s[:-1], 1)),
    ("LayerNorm({0}, output_mean_var=True{1})", 3, None, None),
)

CREATED = (
    ("zeros({0}{1})", ()),
    ("ones({0}{1})", ()),
    ("zeros(shape={0}, dtype='float32'{1})", ()),
    ("full({0}, 2.5{1})", ()),
    ("ones(shape={0}, dtype='int32'{1})", ()),
)


class Draw:
    """A program in the making: its lines, and what they have made."""

    def __init__(self, random):
        """Begin a program."""
        self.random = random
        self.lines = list(START)
        self.made = []
        self.variables = {}
        self.executors = []
        self.count = 0

    def word(self, letter):
        """A name that no line has used."""
        self.count += 1
        return f"{letter}{self.count}"

    def pick(self, choices):
        """One of the choices."""
        return self.random.choice(choices)

    def chance(self, share):
        """True in this share of draws."""
        return self.random.random() < share

    def add(self, line, *made):
        """Write a line that assigns symbols."""
        self.lines.append(line)
        self.made.extend(made)

    def symbol(self, rank=None):
        """A symbol that has been made, of one output with a known shape if there is one."""
        fits = [m for m in self.made if m.shapes and len(m.shapes) == 1 and m.shapes[0]]
        if rank:
            fits = [m for m in fits if len(m.shapes[0]) == rank]
        return self.pick(fits[-4:]) if fits else self.variable(rank)

    def any_symbol(self):
        """A symbol, whatever it is."""
        return self.pick(self.made[-5:]) if self.made else self.variable()

    # ── Variables ───────────────────────────────────────────────────────────────────────────

    def variable(self, rank=None):
        """A variable with some of its attributes."""
        name = self.pick([n for n in NAMES if n not in self.variables] or ["z" + self.word("")])
        shape = self.pick([s for s in SHAPES if not rank or len(s) == rank])
        self.variables[name] = shape
        word = self.word("s")
        options = [
            f"shape={shape}",
            "dtype='float32'",
            "dtype=np.float32",
            "lr_mult=0.5",
            "wd_mult=2",
            "init=mx.init.One()",
            "init=mx.init.Constant(2)",
            "init='zeros'",
            "stype='default'",
            "init=mx.init.Xavier(factor_type='in', magnitude=2.34)",
            "attr={'mood': 'good'}",
            "attr={'__key__': 'v', 'ctx_group': 'g1'}",
            "__layout__='NC'",
            "lr_mult='3'",
            f"shape=list({shape})",
        ]
        weights = [6] + [2] * (len(options) - 2) + [1]
        given = self.random.choices(options, weights, k=self.pick([0, 0, 1, 2]))
        given = list({o.split("=")[0]: o for o in given}.values())
        call = self.pick(["mx.sym.Variable", "mx.sym.var", "mx.symbol.Variable"])
        made = Made(word, (shape,), {name: shape})
        self.add(f"{word} = {call}({', '.join([repr(name), *given])})", made)
        return made

    # ── Operators ───────────────────────────────────────────────────────────────────────────

    def ending(self, several=False):
        """A call's name and attributes."""
        ends = ["", "", "", f", name='{self.word('n')}'"]
        ends += [", attr={'__mood__': 'so'}", ", name='same'", ", lr_mult=2", ", __k__='v'"]
        ends += [", attr={'lr_mult': '0.1', '__wd_mult__': '2'}", ", name=None"]
        return self.pick(ends)

    def scoped(self, line):
        """The line, sometimes inside scopes of names and attributes."""
        if self.chance(0.85):
            return line
        used = ", ".join(self.random.sample(SCOPES, self.pick([1, 1, 2])))
        return f"with {used}: {line}"

    def layer(self):
        """An operator on a symbol."""
        rank = self.pick([0, 0, 2, 2, 4])
        x = self.symbol(rank or None)
        call, shape_of = self.pick(LAYERS[rank])
        word = self.word("s")
        shapes = (shape_of(x.shapes[0]) if shape_of else None,)
        line = f"{word} = mx.sym.{call.format(x.word, self.ending(), *x.shapes[0])}"
        self.add(self.scoped(line), Made(word, shapes, x.feeds))

    def method(self):
        """A method of a symbol."""
        x = self.symbol()
        call, shape_of = self.pick(METHODS)
        word = self.word("s")
        shapes = (shape_of(x.shapes[0]) if shape_of else None,)
        self.add(f"{word} = {x.word}.{call}", Made(word, shapes, x.feeds))

    def arithmetic(self):
        """A symbol and a number, or two symbols."""
        x, word = self.symbol(), self.word("s")
        if self.chance(0.5):
            number, operation = self.pick(SCALARS), self.pick(OPERATIONS)
            sides = self.pick([(x.word, number), (number, x.word)])
            line = f" {operation} ".join(sides)
            if self.chance(0.2):
                line = f"mx.sym.{self.pick(TWO_SIDED)}({', '.join(sides)})"
            self.add(f"{word} = {line}", Made(word, x.shapes, x.feeds))
            return
        fits = [m for m in self.made if m.shapes == x.shapes]
        y = self.pick(fits)
        line = f"{x.word} {self.pick(OPERATIONS)} {y.word}"
        if self.chance(0.2):
            line = f"mx.sym.{self.pick(TWO_SIDED)}({x.word}, {y.word})"
        if self.chance(0.1):
            line = self.pick([f"-{x.word}", f"abs({x.word})"])
        self.add(f"{word} = {line}", Made(word, x.shapes, {**x.feeds, **y.feeds}))

    def in_place(self):
        """An operator that assigns its result to the name, which the symbol under it keeps."""
        x, word = self.symbol(), self.word("s")
        self.add(f"{word} = {x.word}", Made(word, x.shapes, x.feeds))
        right = self.pick([*SCALARS, x.word])
        self.add(f"{word} {self.pick(['+=', '-=', '*=', '/=', '**=', '%='])} {right}")
        self.lines.append(f"({word}.name, {x.word}.name)")

    def scope(self):
        """Scopes of names and attributes over several operators."""
        x, word = self.symbol(), self.word("s")
        inner = (
            "with mx.name.Prefix('q_'): ",
            "with mx.AttrScope(__group__='5', lr_mult='3'): ",
            "with mx.AttrScope(): ",
            "if True: ",
        )
        layers = (
            "mx.sym.exp({0})",
            "mx.sym.exp({0}, name='e', attr={{'__group__': '9'}})",
            "mx.sym.Variable('inside') + {0}",
            "{0} * 2",
            "mx.sym.FullyConnected({0}, num_hidden=2)",
            "mx.sym.BatchNorm({0}, lr_mult=4)",
        )
        block = "\n".join(
            [
                f"with {self.pick(SCOPES)}:",
                f"    {word} = {self.pick(layers).format(x.word)}",
                f"    {self.pick(inner)}{word} = {self.pick(layers).format(word)}",
                f"    {word} = {self.pick(layers).format(word)}",
            ]
        )
        self.add(block, Made(word, None, x.feeds))
        self.lines.append(ATTRIBUTES.format(word))
        self.lines.append(self.pick(SCOPE_QUERIES).format())

    def old_file(self):
        """A file as earlier versions of MXNet wrote it."""
        word = self.word("s")
        field = self.pick(["param", "attr", "attrs"])
        version = self.pick(["", ', "attrs": {"mxnet_version": ["int", 905]}'])
        version = self.pick([version, ', "attrs": {"mxnet_version": ["int", 10200]}'])
        source = self.pick(["", ', "backward_source_id": -1'])
        more = self.pick(
            ["", "", ', "lr_mult": "2"', ', "weight_lr_mult": "3"', ', "ctx_group": "g"',
             ', "__wd_mult__": "0.5"', ', "bias_wd_mult": "0"', ', "force_mirroring": "True"']
        )  # fmt: skip
        own = self.pick(["", ', "attr": {"lr_mult": "4", "ctx_group": "h"}'])
        own = own if field == "param" else ""
        inputs = self.pick(["[[0, 0], [1, 0], [2, 0]]", "[[0, 0, 0], [1, 0, 0], [2, 0, 0]]"])
        op, name, params = self.pick(OLD_NODES)
        version = "" if op == "BatchNorm" else version  # its states are nodes since 0.9
        plain = "{}" if field == "param" else '{"lr_mult": "5"}'
        nodes = ", ".join(
            f'{{"op": "null", "name": "{n}", "{field}": {plain}, "inputs": []{source}}}'
            for n in ("data", f"{name}_weight", f"{name}_bias")
        )
        text = (
            f'{{"nodes": [{nodes}, {{"op": "{op}", "name": "{name}", "{field}": {{{params}{more}}}'
            f'{own}, "inputs": {inputs}{source}}}], "arg_nodes": [0, 1, 2], "heads": '
            f"[{self.pick(['[3, 0]', '[3, 0, 0]'])}]{version}}}"
        )
        self.add(f"{word} = mx.sym.load_json({text!r})", Made(word, None, {"data": (2, 4, 5, 5)}))
        self.lines.append(ATTRIBUTES.format(word))
        self.lines.append(NODES.format(word))

    def creation(self):
        """A symbol without inputs."""
        word, shape = self.word("s"), self.pick(SHAPES)
        call, _ = self.pick(CREATED)
        others = (
            ("arange(3)", (3,)),
            ("arange(1, 7, 2, repeat=2, name='range')", (6,)),
            ("arange(0, 4, dtype='int32')", (4,)),
            ("eye(3)", (3, 3)),
            ("eye(2, 3, k=1)", (2, 3)),
            ("linspace(0, 1, 5)", (5,)),
            ("zeros(3)", (3,)),
            ("zeros((0, 3))", None),
        )
        if self.chance(0.3):
            call, shape = self.pick(others)
        self.add(f"{word} = mx.sym.{call.format(shape, self.ending())}", Made(word, (shape,), {}))

    def several(self):
        """An operator of several outputs, and some of them."""
        x = self.symbol()
        call, count, divides, shape_of = self.pick(SEVERAL)
        size = x.shapes[0][0]
        if divides and size % divides:
            return
        count = count or size
        word, one = self.word("s"), self.word("s")
        shape = shape_of(x.shapes[0]) if shape_of else None
        self.add(
            f"{word} = mx.sym.{call.format(x.word, self.ending(), count)}",
            Made(word, (shape,) * count if count > 1 else (shape,), x.feeds),
        )
        index = self.pick([0, count - 1, f"{word}.list_outputs()[0]"])
        self.lines.extend([f"{word}[{self.pick([count, -1, -count])}]"] * self.chance(0.1))
        line = f"{one} = {word}[{index}]"
        if self.chance(0.2):
            line = f"{one} = {word}[0:{count}:{self.pick([1, 2])}]"
            self.add(line, Made(one, None, x.feeds))
            return
        self.add(line, Made(one, (shape,), x.feeds))

    def group(self):
        """Several symbols as one."""
        parts = list(
            {p.word: p for p in (self.any_symbol() for _ in range(self.pick([1, 2, 3])))}.values()
        )
        word = self.word("s")
        feeds = {name: shape for part in parts for name, shape in part.feeds.items()}
        self.add(
            f"{word} = mx.sym.Group([{', '.join(p.word for p in parts)}])",
            Made(word, None, feeds),
        )

    def copied(self):
        """A copy, or a part."""
        x, word = self.any_symbol(), self.word("s")
        self.add(f"{word} = {self.pick(COPIES).format(x.word)}", Made(word, None, x.feeds))

    def composed(self):
        """A symbol in the place of a variable."""
        x, y, word = self.any_symbol(), self.symbol(), self.word("s")
        name = self.pick([*x.feeds, "data"])
        call = self.pick(
            [
                f"{x.word}({name.replace('.', '_')}={y.word})",
                f"{x.word}(**{{{name!r}: {y.word}}})",
                f"{x.word}(**{{{name!r}: {y.word}, 'name': 'new'}})",
                f"{x.word}({y.word})",
                f"{x.word}(nothing={y.word})",
                f"{x.word}._gen_atomic_symbol()({y.word}, name='bare')",
            ]
        )
        feeds = {**x.feeds, **y.feeds}
        feeds.pop(name, None)
        feeds.update(y.feeds)
        self.add(f"{word} = {call}", Made(word, None, feeds))

    # ── What is made, shown ─────────────────────────────────────────────────────────────────

    def query(self):
        """A line that shows a symbol."""
        self.lines.append(self.pick(QUERIES).format(self.any_symbol().word))

    def attribute(self):
        """An attribute set."""
        x = self.any_symbol()
        calls = (
            "_set_attr(__key__='1')",
            "_set_attr(lr_mult='2')",
            "_set_attr(__lr_mult__='2')",
            "_set_attr(number=2)",
        )
        self.lines.append(f"{x.word}.{self.pick(calls)}")
        self.lines.append(ATTRIBUTES.format(x.word))

    def inferred(self):
        """Shapes or types from some of the inputs'."""
        x = self.any_symbol()
        what = self.pick(["shape", "shape", "shape_partial", "type", "type_partial"])
        feeds = dict(x.feeds)
        if "type" in what:
            types = ["'float32'", "np.float32", "'float64'", "np.int32", "'float16'"]
            words = {name: self.pick(types) for name in feeds}
        else:
            words = {name: str(self.spoilt(shape)) for name, shape in feeds.items()}
        if words and self.chance(0.3):
            words.pop(self.pick(list(words)))
        if self.chance(0.05):
            words["nothing"] = "(2, 3)" if "shape" in what else "'float32'"
        given = "**{" + ", ".join(f"{n!r}: {w}" for n, w in words.items()) + "}"
        if self.chance(0.2):
            given = ", ".join(words.values())
        self.lines.append(f"{x.word}.infer_{what}({given})")

    def spoilt(self, shape):
        """The shape, sometimes with an unknown size, another rank or another size."""
        kind = self.random.random()
        if kind < 0.75:
            return shape
        at = self.random.randrange(len(shape))
        if kind < 0.9:
            return (*shape[:at], 0, *shape[at + 1 :])
        return self.pick([shape[1:] or None, (*shape, 2), (*shape[:at], 7, *shape[at + 1 :])])

    # ── Numbers ─────────────────────────────────────────────────────────────────────────────

    def run(self, x=None):
        """Outputs, and mostly gradients, of a symbol."""
        x, word = x or self.any_symbol(), self.word("e")
        feeds = ", ".join(f"{n!r}: {s}" for n, s in x.feeds.items())
        requests = ["", "", ", grad_req='write'", ", grad_req='add'", ", grad_req='null'"]
        requests += [f", grad_req={{n: 'add' for n in {x.word}.list_arguments()}} or 'add'"]
        if any("clip(" in line for line in self.lines):  # the reference writes its gradient
            requests = [each for each in requests if "'add'" not in each]
        requests += [f", grad_req=['write' for n in {x.word}.list_arguments()]"]
        requests += [f", grad_req={{{name!r}: 'write'}}" for name in x.feeds]
        requests += [f", type_dict={{{name!r}: 'float64'}}" for name in x.feeds]
        requests += [", group2ctx={'g1': mx.cpu(1), 'g2': mx.cpu(2)}"]
        self.lines.append(
            f"{word} = {x.word}.simple_bind(mx.cpu(){self.pick(requests)}, **{{{feeds}}})"
        )
        self.lines.append(FILL.format(f"{word}.arg_dict"))
        self.lines.append(FILL.format(f"{word}.aux_dict"))
        self.passes(word)

    def passes(self, word):
        """Calls of an executor, and what it holds then."""
        if self.chance(0.4):
            train = self.pick(["is_train=True", "is_train=False", "", "True"])
            self.lines.append(f"{word}.forward({train})")
        else:
            backward = self.pick(BACKWARD).format(word)
            self.lines.append(f"{word}.forward(is_train=True) and {word}.{backward}")
            self.lines.append(f"sorted({word}.grad_dict.items())")
            if self.chance(0.2):
                self.lines.append(f"{word}.forward(is_train=True) and {word}.{backward}")
                self.lines.append(f"{word}.grad_arrays")
        self.lines.append(self.pick(EXECUTOR_QUERIES).format(word))

    def evaluated(self):
        """`eval` and `bind` with arrays of the variables."""
        x, word = self.any_symbol(), self.word("e")
        feeds = ", ".join(f"{n!r}: mx.nd.ones({s}) * 0.7" for n, s in x.feeds.items())
        if self.chance(0.3):
            self.lines.append(f"{x.word}.eval(ctx=mx.cpu(), **{{{feeds}}})")
            return
        shapes = self.word("h")
        given = ", ".join(f"{n!r}: {s}" for n, s in x.feeds.items())
        self.lines.append(f"{shapes} = {x.word}.infer_shape(**{{{given}}})")
        arrays = f"[mx.nd.ones(s) * 0.7 for s in {shapes}[0]]"
        named = f"dict(zip({x.word}.list_arguments(), {arrays}))"
        states = f"[mx.nd.ones(s) for s in {shapes}[2]]"
        grads = [
            "",
            f", args_grad={arrays}",
            f", args_grad={named}",
            f", args_grad={arrays}, grad_req='add'",
            f", {arrays}, 'write'",
            f", args_grad={{{self.pick([*x.feeds, 'data'])!r}: mx.nd.zeros((2, 3))}}",
            f", args_grad={named}, grad_req={{{self.pick([*x.feeds, 'data'])!r}: 'write'}}",
        ]
        states = [f", aux_states={states}", f", aux_states={states}", ""]
        states += [f", aux_states=dict(zip({x.word}.list_auxiliary_states(), {states[0][13:]}))"]
        self.lines.append(
            f"{word} = {x.word}.bind({self.pick(['', 'ctx='])}mx.cpu(), "
            f"{self.pick([arrays, named])}"
            f"{self.pick(grads)}{self.pick(states)})".replace(
                "ctx=mx.cpu(), ", "ctx=mx.cpu(), args="
            )
        )
        self.passes(word)

    def saved(self):
        """A file and what is read from it."""
        x, word = self.any_symbol(), self.word("s")
        self.lines.append(f"{x.word}.save('net.json')")
        self.add(f"{word} = mx.sym.load('net.json')", Made(word, None, x.feeds))
        if self.chance(0.4):
            self.lines.append(
                f"mx.model.save_checkpoint('net', 1, {x.word}, {{'w': mx.nd.ones((2,))}}, {{}})"
            )
            self.lines.append("mx.model.load_checkpoint('net', 1)")

    def shown(self):
        """The summary of a network, whose head is the first output of its node.

        (MXNet reads the number of another output as that of a node.)
        """
        x, word = self.symbol(), self.word("t")
        shape = f"{{{', '.join(f'{n!r}: {s}' for n, s in x.feeds.items())}}}"
        shape = self.pick([shape, shape, "None"])
        options = self.pick(["", "", ", line_length=80", ", positions=[.3, .6, .8, 1.]"])
        self.lines.append(f"{word} = io.StringIO()")
        self.lines.append(
            f"with contextlib.redirect_stdout({word}): "
            f"mx.viz.print_summary({x.word} + 0, shape={shape}{options})"
        )
        self.lines.append(f"{word}.getvalue()")

    def shapes_of_numpy(self):
        """Inference where -1 is unknown and 0 a size."""
        x, word = self.any_symbol(), self.word("r")
        words = {n: str(self.spoilt(s)).replace("0", "-1") for n, s in x.feeds.items()}
        given = "**{" + ", ".join(f"{n!r}: {w}" for n, w in words.items()) + "}"
        what = self.pick(["shape", "shape_partial"])
        self.lines.append(f"with mx.util.np_shape(True): {word} = {x.word}.infer_{what}({given})")
        self.lines.append(word)

    # ── Control flow and operators of the program's own ─────────────────────────────────────

    def pair(self):
        """An operator of the program's own, with two inputs, two outputs and a state."""
        x, word, one = self.symbol(), self.word("s"), self.word("s")
        calls = (
            "Custom({0}, {0}, op_type='pair')",
            "Custom(one={0}, other={0}, op_type='pair')",
            "Custom({0}, mx.sym.Variable('extra'), op_type='pair', mode='loud', name='loud')",
            "Custom(one={0}, op_type='pair')",
        )
        line = f"{word} = mx.sym.{self.pick(calls).format(x.word)}"
        self.add(line, Made(word, x.shapes * 2, x.feeds))
        index = self.pick([0, 1, f"{word}.list_outputs()[1]"])
        self.add(f"{one} = {word}[{index}]", Made(one, x.shapes, x.feeds))

    def loop(self):
        """A loop or a branch."""
        x = self.symbol()
        shape = x.shapes[0]
        row, out, state = self.word("s"), self.word("s"), self.word("s")
        if self.chance(0.6):
            call = self.pick(FOREACH)
            first = f"{row} = mx.sym.{self.pick(['zeros', 'ones'])}({shape[1:] or (1,)})"
        else:
            call = self.pick(LOOPS)
            first = f"{row} = {self.pick(['mx.sym.ones((1,))', x.word + '.sum()'])}"
        self.add(first, Made(row, None, {} if "mx" in first else x.feeds))
        name = self.pick(["", "", f", name='{self.word('n')}'"])
        line = f"{out}, {state} = mx.sym.contrib.{call.format(x.word, row, name)}"
        if "cond({0}.sum" in call:
            line = f"{out} = mx.sym.contrib.{call.format(x.word, row, name)}"
        self.add(line, Made(out, None, x.feeds))
        if self.chance(0.7):
            self.run(self.made[-1])

    # ── Recurrent cells ─────────────────────────────────────────────────────────────────────

    def cell(self, wrapped=False):
        """A recurrent cell, sometimes in another."""
        word = self.word("c")
        prefix = self.pick(["", f", prefix='{self.word('p')}_'", ", prefix='rnn_'"])
        if wrapped or self.chance(0.7):
            self.lines.append(f"{word} = mx.rnn.{self.pick(CELLS).format(prefix)}")
            return word
        inner = self.cell(wrapped=True)
        kind = self.pick(["Zoneout", "Residual", "Bidirectional", "Sequential", "Shared"])
        if kind == "Zoneout":
            self.lines.append(f"{word} = mx.rnn.ZoneoutCell({inner}, zoneout_outputs=0.)")
        elif kind == "Shared":
            call = self.pick(CELLS).format(f", params={inner}.params")
            self.lines.append(f"{word} = mx.rnn.{call}")
        elif kind == "Residual":
            self.lines.append(f"{word} = mx.rnn.ResidualCell({inner})")
        elif kind == "Bidirectional":
            other = self.cell(wrapped=True)
            options = self.pick(["", ", output_prefix='bi_'", ", params=mx.rnn.RNNParams('q_')"])
            self.lines.append(f"{word} = mx.rnn.BidirectionalCell({inner}, {other}{options})")
        else:
            other = self.cell(wrapped=True)
            self.lines.append(f"{word} = mx.rnn.SequentialRNNCell()")
            self.lines.append(f"{word}.add({inner})")
            self.lines.append(f"{word}.add({self.pick([other, 'mx.rnn.DropoutCell(0.)'])})")
        return word

    def recurrent(self):
        """A cell unrolled, with what it says of itself and its parameters."""
        before = len(self.lines)
        cell = self.cell()
        text = "\n".join(self.lines[before:])
        for _ in range(self.pick([0, 1, 2])):
            self.lines.append(self.pick(CELL_QUERIES).format(cell))
        if self.chance(0.1):
            self.lines.append(f"{cell} = {cell}.unfuse()")
        rank = 4 if "Conv" in text else self.pick([3, 3, 3, 2])
        x = self.symbol(rank)
        out, states = self.word("s"), self.word("b")
        if len(x.shapes[0]) == 3:
            layout = self.pick(["NTC", "NTC", "TNC"])
            length = x.shapes[0][layout.index("T")]
            func = self.pick(["func=", ""])
            given = f"{length}, {self.pick(['', 'inputs='])}{x.word}, layout={layout!r}"
            given += self.pick(["", ", merge_outputs=True", ", merge_outputs=False"])
            given += self.pick(
                [
                    *[""] * 6,
                    f", begin_state={cell}.begin_state()",
                    f", begin_state={cell}.begin_state({func}mx.sym.Variable)",
                ]
            )
            self.add(f"{out}, {states} = {cell}.unroll({given})")
        elif self.chance(0.5):
            given = f"2, inputs=[{x.word}, {x.word}]"
            given += self.pick(["", "", f", begin_state={cell}.begin_state()"])
            given += self.pick(["", ", merge_outputs=True", ", merge_outputs=False"])
            self.add(f"{out}, {states} = {cell}.unroll({given})")
        else:
            self.add(f"{out}, {states} = {cell}({x.word}, {cell}.begin_state())")
        both = self.word("s")
        made = Made(both, None, x.feeds)
        self.lines.append(f"[o.name for o in {out}], [s.name for s in {states}]")
        self.add(f"{both} = mx.sym.Group(list({out}) + [2 * s for s in {states}])", made)
        if self.chance(0.2):
            self.lines.append(f"mx.rnn.save_rnn_checkpoint({cell}, 'rnn', 3, {both}, {{}}, {{}})")
            self.lines.append("[type(p) for p in mx.rnn.load_rnn_checkpoint([], 'rnn', 3)]")
        if self.chance(0.5) and "Fused" not in text:
            self.run(made)
            executor, weights = f"e{self.count}", self.word("w")
            self.lines.append(
                f"{weights} = {cell}.unpack_weights({{k: v for k, v in {executor}.arg_dict."
                f"items() if k not in {tuple(x.feeds)}}})"
            )
            self.lines.append(f"sorted({cell}.pack_weights({weights}).items())")

    def mistake(self):
        """A line that a user may write by mistake."""
        x, y = self.any_symbol().word, self.any_symbol().word
        self.lines.append(self.pick(MISTAKES).format(x, y))


MISTAKES = (
    "mx.sym.FullyConnected({0})",
    "mx.sym.FullyConnected({0}, num_hiden=3)",
    "mx.sym.FullyConnected({0}, num_hidden='three')",
    "mx.sym.FullyConnected(input={0}, num_hidden=3)",
    "mx.sym.FullyConnected({0}, {0}, {0}, {0}, num_hidden=3, name='m')",
    "mx.sym.FullyConnected(3, num_hidden=3, name='m')",
    "mx.sym.FullyConnected({0}, data={1}, num_hidden=3, name='m')",
    "mx.sym.Activation({0}, act_type='none')",
    "mx.sym.Activation({0})",
    "mx.sym.Convolution({0}, kernel=3, num_filter=2)",
    "mx.sym.Concat()",
    "mx.sym.Concat(1, 2, name='m')",
    "mx.sym.Group([])",
    "mx.sym.Group([{0}, 3])",
    "mx.sym.Variable(3)",
    "mx.sym.Variable()",
    "mx.sym.Variable('m', ctx_group='dev1')",
    "mx.sym.Variable('m', unknown=3)",
    "mx.sym.Variable('m', profiler_scope='s/')",
    "mx.sym.Variable('m', attr={{'k': 1}})",
    "mx.sym.Variable('m', shape=3).attr_dict()",
    "mx.sym.Variable('m', shape=(2, 'a')).infer_shape()",
    "mx.sym.Variable('m', dtype='float99')",
    "mx.sym.Variable('m', init=3)",
    "mx.sym.Variable('m', stype='odd')",
    "mx.sym.exp({0}, attr={{'mood': 'so'}}).list_attr()",
    "mx.sym.BatchNorm({0}, attr={{'mood': 'so'}})",
    "mx.sym.LogisticRegressionOutput({0}, mood='so').list_attr()",
    "mx.sym.Custom({0}, {1}, op_type='pair', mood='x')",
    "{0}['sum']",
    "{0}[-1]",
    "{0}[:-1]",
    "{0}[::2].list_outputs()",
    "mx.sym.load('absent.json')",
    "mx.sym.load_json('{{}}')",
    "mx.sym.load_json('nonsense')",
    "mx.sym.load_json(3)",
    "{0}[100]",
    "{0}['absent']",
    "{0}[None]",
    "{0}[1.5]",
    "bool({0})",
    "if {0} == {1}: pass",
    "{0}.absent",
    "{0}.asnumpy()",
    "{0}.backward()",
    "{0}.detach()",
    "{0}.copy()",
    "{0}.wait_to_read()",
    "{0}.asscalar()",
    "{0}.as_in_context()",
    "{0}.gradient(['data'])",
    "{0}.list_attr(recursive=True)",
    "{0}.attr(3)",
    "{0}.name == 3",
    "{0}.save(3)",
    "{0} + 'one'",
    "{0} + None",
    "{0} + [1, 2]",
    "{0} + np.ones((2, 3))",
    "{0} + mx.nd.ones((2, 3))",
    "{0}.eval(ctx=mx.cpu(), nothing=mx.nd.ones((2,)))",
    "{0}.eval()",
    "{0}.bind(mx.cpu(), [])",
    "{0}.bind(mx.cpu(), [mx.nd.ones((9, 9, 9))])",
    "{0}.bind(mx.cpu(), 3)",
    "{0}.bind(3, {{}})",
    "{0}.simple_bind(mx.cpu())",
    "{0}.simple_bind(mx.cpu(), data=3)",
    "{0}.simple_bind(mx.cpu(), nothing=(2, 3))",
    "{0}.simple_bind(mx.cpu(), grad_req='wrong')",
    "{0}.infer_shape((2, 3), data=(2, 3))",
    "{0}.infer_shape(3)",
    "{0}.infer_shape(data='(2, 3)')",
    "{0}.infer_type(data=3)",
    "{0}.optimize_for('absent')",
    "{0}.optimize_for('default')",
    "{0}.get_backend_symbol('absent')",
    "mx.sym.maximum(1, 2)",
    "mx.sym.maximum({0}, 'a')",
    "mx.sym.pow(2, 3)",
    "mx.AttrScope(number=3)",
    "mx.sym.BatchNorm({0} + 1, moving_mean={1} + 1)",
    "mx.sym.dot({0})",
    "mx.sym.SliceChannel({0})",
    "mx.sym.zeros()",
    "mx.sym.Custom({0}, op_type='unknown_op')",
    "mx.sym.Custom({0})",
    "{0}.reshape()",
    "{0}.reshape((2, 'a'))",
    "{0}.sum(axs=1)",
    "len({0}.get_children())",
    "iter({0}.get_internals())",
    "{0}._compose({1})",
    "{0}._set_attr()",
    "del {0}[0]",
    "{0} // 2",
    "{0} @ {1}",
    "{0} & {1}",
    "~{0}",
    "round({0})",
    "{0} in [{1}]",
    "pickle.loads(pickle.dumps({0})).list_outputs()",
)

STEPS = {
    "variable": 2,
    "layer": 8,
    "in_place": 0.5,
    "scope": 0.7,
    "old_file": 0.5,
    "method": 3,
    "arithmetic": 3,
    "creation": 1,
    "several": 1.5,
    "group": 1,
    "copied": 1,
    "composed": 1.2,
    "query": 4,
    "attribute": 0.7,
    "inferred": 2.5,
    "run": 1.5,
    "evaluated": 1,
    "saved": 0.5,
    "shown": 0.7,
    "shapes_of_numpy": 0.6,
    "pair": 0.6,
    "loop": 0.8,
    "recurrent": 0.8,
    "mistake": 1.5,
}
"""Relative frequency of each step of a program."""


def draw(random):
    """The lines of one program."""
    program = Draw(random)
    length = random.randint(6, 26)
    program.variable()
    while len(program.lines) < length:
        (step,) = random.choices(list(STEPS), list(STEPS.values()))
        getattr(program, step)()
    program.query()
    return program.lines
