"""ONNX models in the forms in which other programs' exporters write them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

_RANDOM = np.random.RandomState(0)


class Form(NamedTuple):
    """A graph, its inputs and its weights."""

    opset: int
    inputs: str
    outputs: str
    body: str
    given: Mapping[str, np.ndarray]
    weights: Mapping[str, np.ndarray]

    @property
    def text(self) -> str:
        """The model without its weights, in ONNX's text format."""
        return (
            f'<ir_version: 8, opset_import: ["" : {self.opset}]> net ({self.inputs}) => '
            f"({self.outputs}) {{ {self.body} }}"
        )


def random(shape, dtype="float32", low=None):
    """Numbers about 0, or from ``low`` on."""
    found = _RANDOM.randn(*shape) * 0.3
    return (found if low is None else np.abs(found) + low).astype(dtype)


FORMS = {
    "no axes": Form(
        13, "float[2,3] x", "float[2,3] y",
        "a = Unsqueeze(x, none) y = Slice(a, none, none)",
        {"x": random((2, 3))}, {"none": np.array([], "int64")},
    ),
    "pow int": Form(
        13, "float[2,3] x", "float[2,3] y",
        "y = Pow(x, e)",
        {"x": random((2, 3), low=0.1)}, {"e": np.array([2], "int64")},
    ),
    "int add": Form(
        13, "int64[N] x", "int64[N] y",
        "a = Constant<value_int = 3>() b = Add(x, a) c = Mul(b, w) y = Sub(c, x)",
        {"x": np.array([1, 2, 1099511627776], "int64")}, {"w": np.array([2], "int64")},
    ),
    "int div scalar": Form(
        13, "int64[N] x", "int64[N] y",
        "y = Div(x, w)",
        {"x": np.array([7, -7, 8], "int64")}, {"w": np.array(2, "int64")},
    ),
    "bool input": Form(
        13, "bool[N,3] m, float[N,3] x", "float[N,3] y",
        "z = Constant<value_float=-1.0>() y = Where(m, x, z)",
        {"m": np.array([[True, False, True]], "bool"), "x": random((1, 3))}, {},
    ),
    "half": Form(
        13, "float16[N,3] x", "float16[N,4] y",
        "a = MatMul(x, w) y = Add(a, b)",
        {"x": random((2, 3), "float16")},
        {"w": random((3, 4), "float16"), "b": random((4,), "float16")},
    ),
    "double": Form(
        13, "double[N,3] x", "double[N,4] y",
        "a = MatMul(x, w) b = Sigmoid(a) y = Add(b, c)",
        {"x": random((2, 3), "float64")},
        {"w": random((3, 4), "float64"), "c": random((4,), "float64")},
    ),
    "cast mix": Form(
        13, "int32[N,3] x", "float[N,3] y",
        "a = Cast<to=1>(x) b = Sqrt(a) y = Div(b, w)",
        {"x": np.array([[1, 4, 9]], "int32")}, {"w": random((3,))},
    ),
    "argmax then gather": Form(
        13, "float[N,5] x", "float[N,4] y",
        "i = ArgMax<axis=1,keepdims=0>(x) y = Gather(w, i)",
        {"x": random((3, 5))}, {"w": random((5, 4))},
    ),
    "int clip": Form(
        13, "int64[N,3] x", "int64[N,3] y",
        "y = Clip(x, p, q)",
        {"x": np.array([[0, 1, 4]], "int64")},
        {"p": np.array(1, "int64"), "q": np.array(3, "int64")},
    ),
    "cumsum int": Form(
        13, "int64[N,3] x", "int64[N,3] y",
        "y = CumSum(x, a)",
        {"x": np.array([[0, 1, 4]], "int64")}, {"a": np.array(1, "int64")},
    ),
    "equal where": Form(
        13, "int64[N,3] x", "int64[N,3] y",
        """
        z = Constant<value_int=1>() e = Equal(x, z) w = Constant<value_int=-7>()
        y = Where(e, w, x)
        """,
        {"x": np.array([[0, 1, 4]], "int64")}, {},
    ),
    "roberta positions": Form(
        13, "int64[N,T] x", "float[N,T,4] y",
        """
        pad = Constant<value_int=1>() e = Equal(x, pad) n = Not(e) i = Cast<to=6>(n)
        c = CumSum(i, a) m = Mul(c, i) l = Cast<to=7>(m) p = Add(l, pad) y = Gather(w, p)
        """,
        {"x": np.array([[0, 5, 4, 1], [3, 1, 1, 1]], "int64")},
        {"a": np.array(1, "int64"), "w": random((9, 4))},
    ),
    "reshape keep two": Form(
        13, "float[N,T,6] x", "float[N,T,2,3] y",
        """
        s = Shape(x) i0 = Constant<value_int=0>() i1 = Constant<value_int=1>()
        a = Gather(s,i0) b = Gather(s,i1) ax = Constant<value_ints=[0]>()
        a1 = Unsqueeze(a,ax) b1 = Unsqueeze(b,ax) r = Constant<value_ints=[2,3]>()
        t = Concat<axis=0>(a1,b1,r) y = Reshape(x,t)
        """,
        {"x": random((2, 5, 6))}, {},
    ),
    "reshape heads": Form(
        13, "float[N,T,6] x", "float[M,T,3] y",
        """
        s = Shape(x) i0 = Constant<value_int=0>() i1 = Constant<value_int=1>()
        a = Gather(s,i0) b = Gather(s,i1) two = Constant<value_int=2>() ab = Mul(a, two)
        ax = Constant<value_ints=[0]>() a1 = Unsqueeze(ab,ax) b1 = Unsqueeze(b,ax)
        r = Constant<value_ints=[3]>() h = Constant<value_ints=[0,0,2,3]>() q = Reshape(x,h)
        qt = Transpose<perm=[0,2,1,3]>(q) t = Concat<axis=0>(a1,b1,r) y = Reshape(qt,t)
        """,
        {"x": random((2, 5, 6))}, {},
    ),
    "flatten C*H*W product": Form(
        13, "float[N,4,A,B] x", "float[N,4,C] y",
        """
        s = Shape(x) z=Constant<value_ints=[0]>() two=Constant<value_ints=[2]>()
        four=Constant<value_ints=[4]>()
        ab = Slice(s,two,four) p = ReduceProd<keepdims=1>(ab) h = Slice(s,z,two)
        t = Concat<axis=0>(h,p) y = Reshape(x,t)
        """,
        {"x": random((2, 4, 3, 5))}, {},
    ),
    "convT unequal large": Form(
        11, "float[N,2,5,5] x", "float[N,3,A,B] y",
        "y = ConvTranspose<kernel_shape=[4,4],strides=[2,2],pads=[2,2,0,0]>(x,w)",
        {"x": random((2, 2, 5, 5))}, {"w": random((2, 3, 4, 4))},
    ),
    "convT unequal out pad": Form(
        11, "float[N,2,5,5] x", "float[N,3,A,B] y",
        """
        y =
        ConvTranspose<kernel_shape=[3,3],strides=[2,2],pads=[1,0,0,1],output_padding=[1,1]>(x,w)
        """,
        {"x": random((2, 2, 5, 5))}, {"w": random((2, 3, 3, 3))},
    ),
    "convT same": Form(
        11, "float[N,2,5,5] x", "float[N,3,A,B] y",
        """
        y = ConvTranspose<kernel_shape=[3,3],strides=[2,2],auto_pad="SAME_UPPER">(x,w)
        """,
        {"x": random((2, 2, 5, 5))}, {"w": random((2, 3, 3, 3))},
    ),
    "convT output_shape": Form(
        11, "float[N,2,5,5] x", "float[N,3,A,B] y",
        "y = ConvTranspose<kernel_shape=[3,3],strides=[2,2],output_shape=[10,10]>(x,w)",
        {"x": random((2, 2, 5, 5))}, {"w": random((2, 3, 3, 3))},
    ),
    "conv 1d unequal": Form(
        11, "float[N,2,5] x", "float[N,3,A] y",
        "y = Conv<kernel_shape=[2],pads=[1,0]>(x,w)",
        {"x": random((2, 2, 5))}, {"w": random((3, 2, 2))},
    ),
    "keras nhwc": Form(
        11, "float[N,6,6,2] x", "float[N,3] y",
        """
        t = Transpose<perm=[0,3,1,2]>(x)
        c = Conv<auto_pad="SAME_UPPER",strides=[1,1],dilations=[1,1],kernel_shape=[3,3],group=1>
        (t,w,b)
        r = Relu(c) p = MaxPool<kernel_shape=[2,2],strides=[2,2],auto_pad="VALID">(r)
        q = Transpose<perm=[0,2,3,1]>(p) k = Reshape(q, s) d = MatMul(k, v) e = Add(d, vb)
        y = Softmax<axis=1>(e)
        """,
        {"x": random((2, 6, 6, 2))},
{"w": random((3, 2, 3, 3)), "b": random((3,)), "s": np.array([-1, 27], "int64"), "v":
         random((27, 3)), "vb": random((3,))},
    ),
    "mobilenet": Form(
        13, "float[N,3,8,8] x", "float[N,5] y",
        """
        a = Conv<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(x,w,b)
        z = Constant<value_float=0.0>() s = Constant<value_float=6.0>() c = Clip(a,z,s)
        d = Conv<kernel_shape=[3,3],pads=[1,1,1,1],group=4>(c,dw,b) e = Clip(d,z,s)
        p = Conv<kernel_shape=[1,1]>(e,pw) q = Add(p, a) g = GlobalAveragePool(q)
        fl = Flatten<axis=1>(g) y = Gemm<alpha=1.0,beta=1.0,transB=1>(fl,fw,fb)
        """,
        {"x": random((2, 3, 8, 8))},
{"w": random((4, 3, 3, 3)), "b": random((4,)), "dw": random((4, 1, 3, 3)), "pw":
         random((4, 4, 1, 1)), "fw": random((5, 4)), "fb": random((5,))},
    ),
    "resnet bn": Form(
        9, "float[N,3,8,8] x", "float[N,5] y",
        """
        a = Conv<kernel_shape=[3,3],pads=[1,1,1,1]>(x,w)
        n = BatchNormalization<epsilon=1e-5,momentum=0.9>(a,s,b,m,v) r = Relu(n)
        p = MaxPool<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(r)
        c = Conv<kernel_shape=[1,1]>(p,w2) q = Sum(c,p)
        g = ReduceMean<axes=[2,3],keepdims=0>(q) y = Gemm<transB=1>(g,fw,fb)
        """,
        {"x": random((2, 3, 8, 8))},
{"w": random((4, 3, 3, 3)), "s": random((4,)), "b": random((4,)), "m": random((4,)),
         "v": random((4,), low=0.1), "w2": random((4, 4, 1, 1)), "fw": random((5, 4)), "fb":
         random((5,))},
    ),
    "LSTM torch dyn init": Form(
        14, "float[T,N,4] x", "float[T,N,3] y",
        """
        s = Shape(x) i = Constant<value_int=1>() n = Gather(s,i)
        ax0 = Constant<value_ints=[0]>() n1 = Unsqueeze(n,ax0)
        one = Constant<value_ints=[1]>() three = Constant<value_ints=[3]>()
        sh = Concat<axis=0>(one,n1,three) h0 = ConstantOfShape(sh)
        a,hn,cn = LSTM<hidden_size=3>(x,w,r,b,,h0,h0) ax = Constant<value_ints=[1]>()
        y = Squeeze(a,ax)
        """,
        {"x": random((5, 2, 4))},
        {"w": random((1, 12, 4)), "r": random((1, 12, 3)), "b": random((1, 24))},
    ),
    "LSTM torch expand init": Form(
        14, "float[T,N,4] x", "float[T,N,3] y",
        """
        s = Shape(x) i = Constant<value_int=1>() n = Gather(s,i)
        ax0 = Constant<value_ints=[0]>() n1 = Unsqueeze(n,ax0)
        one = Constant<value_ints=[1]>() three = Constant<value_ints=[3]>()
        sh = Concat<axis=0>(one,n1,three) h0 = Expand(z,sh)
        a,hn,cn = LSTM<hidden_size=3>(x,w,r,b,,h0,h0) ax = Constant<value_ints=[1]>()
        y = Squeeze(a,ax)
        """,
        {"x": random((5, 2, 4))},
{"z": random((1, 1, 3), low=0.1), "w": random((1, 12, 4)), "r": random((1, 12, 3)),
         "b": random((1, 24))},
    ),
    "bert layer": Form(
        17, "int64[N,T] ids, int64[N,T] mask", "float[N,T,8] y",
        """
        e = Gather(emb, ids) s = Shape(ids) i1 = Constant<value_int=1>() t = Gather(s,i1)
        ax0 = Constant<value_ints=[0]>() t1 = Unsqueeze(t,ax0)
        z0 = Constant<value_ints=[0]>() p = Slice(pos,z0,t1,ax1) x0 = Add(e,p)
        x = LayerNormalization<axis=-1>(x0,g,b) qm = MatMul(x,wq) q = Add(bq,qm)
        km = MatMul(x,wk) k = Add(bq,km) vm = MatMul(x,wv) v = Add(bq,vm) sx = Shape(q)
        i0 = Constant<value_int=0>() n = Gather(sx,i0) tt = Gather(sx,i1)
        n1 = Unsqueeze(n,ax0) tt1 = Unsqueeze(tt,ax0) hd = Constant<value_ints=[2,4]>()
        sh = Concat<axis=0>(n1,tt1,hd) q4 = Reshape(q,sh) k4 = Reshape(k,sh)
        v4 = Reshape(v,sh) qt = Transpose<perm=[0,2,1,3]>(q4)
        kt = Transpose<perm=[0,2,3,1]>(k4) vt = Transpose<perm=[0,2,1,3]>(v4)
        sc = MatMul(qt,kt) rt = Constant<value_float=2.0>() sd = Div(sc,rt)
        m1 = Unsqueeze(mask,ax12) mf = Cast<to=1>(m1) one = Constant<value_float=1.0>()
        mi = Sub(one,mf) big = Constant<value_float=-10000.0>() mm = Mul(mi,big)
        sm = Add(sd,mm) pr = Softmax<axis=-1>(sm) o = MatMul(pr,vt)
        ot = Transpose<perm=[0,2,1,3]>(o) h8 = Constant<value_ints=[8]>()
        so = Concat<axis=0>(n1,tt1,h8) oj = Reshape(ot,so) r1 = Add(oj,x)
        l1 = LayerNormalization<axis=-1>(r1,g,b) f1 = MatMul(l1,w1)
        d2 = Constant<value_float=1.4142135>() fd = Div(f1,d2) er = Erf(fd) e1 = Add(er,one)
        m = Mul(f1,e1) hf = Constant<value_float=0.5>() gl = Mul(m,hf) f2 = MatMul(gl,w2)
        r2 = Add(f2,l1) y = LayerNormalization<axis=-1>(r2,g,b)
        """,
        {"ids": np.array([[1, 2, 3], [4, 0, 0]], "int64"), "mask": np.array([[1, 1, 1], [1, 0,
         0]], "int64")},
{"emb": random((5, 8)), "pos": random((1, 10, 8)), "ax1": np.array([1], "int64"),
         "ax12": np.array([1, 2], "int64"), "g": random((8,)), "b": random((8,)), "bq":
         random((8,)), "wq": random((8, 8)), "wk": random((8, 8)), "wv": random((8, 8)), "w1":
         random((8, 16)), "w2": random((16, 8))},
    ),
    "gpt split causal": Form(
        13, "float[N,T,8] x", "float[N,T,8] y",
        """
        qkv = MatMul(x,w) q,k,v = Split<axis=2>(qkv,sp) sx = Shape(q)
        st = Constant<value_ints=[0]>() en = Constant<value_ints=[2]>() nt = Slice(sx,st,en)
        hd = Constant<value_ints=[2,4]>() sh = Concat<axis=0>(nt,hd) q4 = Reshape(q,sh)
        k4 = Reshape(k,sh) v4 = Reshape(v,sh) qt = Transpose<perm=[0,2,1,3]>(q4)
        kt = Transpose<perm=[0,2,3,1]>(k4) vt = Transpose<perm=[0,2,1,3]>(v4)
        sc = MatMul(qt,kt) i1 = Constant<value_int=1>() t = Gather(sx,i1)
        ax0 = Constant<value_ints=[0]>() t1 = Unsqueeze(t,ax0)
        a2 = Constant<value_ints=[2]>() a3 = Constant<value_ints=[3]>()
        c1 = Slice(causal,st,t1,a2) c2 = Slice(c1,st,t1,a3)
        ninf = Constant<value_float=-10000.0>() msk = Where(c2,sc,ninf)
        pr = Softmax<axis=-1>(msk) o = MatMul(pr,vt) ot = Transpose<perm=[0,2,1,3]>(o)
        h8 = Constant<value_ints=[8]>() so = Concat<axis=0>(nt,h8) y = Reshape(ot,so)
        """,
        {"x": random((2, 3, 8))},
{"w": random((8, 24)), "sp": np.array([8, 8, 8], "int64"), "causal":
         np.tril(np.ones((1, 1, 6, 6), bool))},
    ),
    "einsum qk": Form(
        13, "float[N,T,2,4] q, float[N,S,2,4] k", "float[N,2,T,S] y",
        """
        y = Einsum<equation="bqhd,bkhd->bhqk">(q,k)
        """,
        {"q": random((2, 3, 2, 4)), "k": random((2, 5, 2, 4))}, {},
    ),
    "einsum matmul": Form(
        13, "float[N,T,4] q", "float[N,T,5] y",
        """
        y = Einsum<equation="btd,de->bte">(q,w)
        """,
        {"q": random((2, 3, 4))}, {"w": random((4, 5))},
    ),
    "einsum sum": Form(
        13, "float[N,T,4] q", "float[4,N] y",
        """
        y = Einsum<equation="ntd->dn">(q)
        """,
        {"q": random((2, 3, 4))}, {},
    ),
    "einsum outer": Form(
        13, "float[N] q, float[M] k", "float[N,M] y",
        """
        y = Einsum<equation="i,j">(q,k)
        """,
        {"q": np.array([-0.15914826095104218, 0.39021506905555725], "float32"), "k":
         random((3,))},
        {},
    ),
    "einsum dots": Form(
        13, "float[N,T,4] q, float[N,4,3] k", "float[N,T,3] y",
        """
        y = Einsum<equation="...ij,...jk->...ik">(q,k)
        """,
        {"q": random((2, 3, 4)), "k": random((2, 4, 3))}, {},
    ),
    "vit cls": Form(
        13, "float[N,3,8,8] x", "float[N,5,6] y",
        """
        c = Conv<kernel_shape=[4,4],strides=[4,4]>(x,w) s = Shape(c)
        st = Constant<value_ints=[0]>() en = Constant<value_ints=[2]>() h = Slice(s,st,en)
        m1 = Constant<value_ints=[-1]>() sh = Concat<axis=0>(h,m1) r = Reshape(c,sh)
        t = Transpose<perm=[0,2,1]>(r) s2 = Shape(t) i0 = Constant<value_int=0>()
        n = Gather(s2,i0) ax0 = Constant<value_ints=[0]>() n1 = Unsqueeze(n,ax0)
        cs = Concat<axis=0>(n1,m1,m1) cos = ConstantOfShape<value=int64[1] {1}>(three)
        mm = Mul(cos, neg) eq = Equal(cs, mm) wh = Where(eq, cos, cs) ce = Expand(cls,wh)
        cc = Concat<axis=1>(ce,t) y = Add(cc,pos)
        """,
        {"x": random((2, 3, 8, 8))},
{"w": random((6, 3, 4, 4)), "cls": random((1, 1, 6)), "pos": random((1, 5, 6)),
         "three": np.array([3], "int64"), "neg": np.array([-1], "int64")},
    ),
    "yolo head": Form(
        13, "float[N,6,4,4] x", "float[N,M,3] y",
        """
        a = Constant<value_ints=[0,2,3,4,4]>() r = Reshape(x,a)
        t = Transpose<perm=[0,1,3,4,2]>(r) s = Sigmoid(t) st = Constant<value_ints=[0]>()
        e2 = Constant<value_ints=[2]>() big = Constant<value_ints=[9223372036854775807]>()
        ax = Constant<value_ints=[4]>() xy = Slice(s,st,e2,ax) cf = Slice(s,e2,big,ax)
        two = Constant<value_float=2.0>() m = Mul(xy,two) g = Add(m,grid) gs = Mul(g,stride)
        cat = Concat<axis=4>(gs,cf) sh = Constant<value_ints=[0,-1,3]>() y = Reshape(cat,sh)
        """,
        {"x": random((2, 6, 4, 4))},
        {"grid": random((1, 1, 4, 4, 2)), "stride": np.array(8.0, "float32")},
    ),
    "avg unequal": Form(
        13, "float[N,4,7,7] x", "float[N,4,A,B] y",
        """
        y = AveragePool<kernel_shape=[2,2],strides=[2,2],auto_pad="SAME_UPPER">(x)
        """,
        {"x": random((1, 4, 7, 7))}, {},
    ),
    "pad18 axes": Form(
        18, "float[N,4,5] x", "float[N,4,7] y",
        """
        p = Constant<value_ints=[1,1]>() a = Constant<value_ints=[2]>()
        v = Constant<value_float=0.0>() y = Pad(x,p,v,a)
        """,
        {"x": random((2, 4, 5))}, {},
    ),
    "pad neg": Form(
        13, "float[N,4,5,5] x", "float[N,4,3,3] y",
        "p = Constant<value_ints=[0,0,-1,-1,0,0,-1,-1]>() y = Pad(x,p)",
        {"x": random((2, 4, 5, 5))}, {},
    ),
    "pad reflect 3d": Form(
        13, "float[N,4,5] x", "float[N,4,7] y",
        """
        p = Constant<value_ints=[0,0,1,0,0,1]>() y = Pad<mode="reflect">(x,p)
        """,
        {"x": random((2, 4, 5))}, {},
    ),
    "reduce all": Form(
        13, "float[N,4] x", "float[] y",
        "y = ReduceMean<keepdims=0>(x)",
        {"x": random((2, 4))}, {},
    ),
    "groupnorm21": Form(
        21, "float[N,4,3,3] x", "float[N,4,3,3] y",
        "y = GroupNormalization<num_groups=2>(x,w,b)",
        {"x": random((2, 4, 3, 3))}, {"w": random((4,)), "b": random((4,))},
    ),
    "gatherelements": Form(
        13, "float[N,5] x, int64[N,2] i", "float[N,2] y",
        "y = GatherElements<axis=1>(x,i)",
        {"x": random((2, 5)), "i": np.array([[0, 3], [4, -1]], "int64")}, {},
    ),
    "scatternd": Form(
        13, "float[4,5] x", "float[4,5] y",
        "y = ScatterND(x,i,u)",
        {"x": random((4, 5))}, {"i": np.array([[1], [3]], "int64"), "u": random((2, 5))},
    ),
    "trilu": Form(
        14, "float[4,4] x", "float[4,4] y",
        "y = Trilu<upper=0>(x)",
        {"x": random((4, 4))}, {},
    ),
    "celu": Form(
        12, "float[4] x", "float[4] y",
        "y = Celu<alpha=2.0>(x)",
        {"x": random((4,))}, {},
    ),
    "hardmax": Form(
        13, "float[2,4] x", "float[2,4] y",
        "y = Hardmax(x)",
        {"x": random((2, 4))}, {},
    ),
    "matmul vec stack": Form(
        13, "float[3] x", "float[2,4] y",
        "y = MatMul(x,v)",
        {"x": random((3,))}, {"v": random((2, 3, 4))},
    ),
    "range": Form(
        13, "float[N,T,4] x", "float[N,T,4] y",
        """
        s = Shape(x) i = Constant<value_int=1>() t = Gather(s,i) z = Constant<value_int=0>()
        o = Constant<value_int=1>() r = Range(z,t,o) e = Gather(emb,r) y = Add(x,e)
        """,
        {"x": random((2, 3, 4))}, {"emb": random((7, 4))},
    ),
    "l2norm expand shape": Form(
        13, "float[N,4] x", "float[N,4] y",
        "n = ReduceL2<axes=[-1],keepdims=1>(x) s = Shape(x) k = Expand(n,s) y = Div(x,k)",
        {"x": random((3, 4))}, {},
    ),
    "upsample linear 9": Form(
        9, "float[N,4,3,3] x", "float[N,4,6,6] y",
        """
        y = Upsample<mode="linear">(x,s)
        """,
        {"x": random((3, 4, 3, 3))}, {"s": np.array([1.0, 1.0, 2.0, 2.0], "float32")},
    ),
    "sklearn scaler argmax": Form(
        13, "double[N,4] x", "int64[N] y",
        """
        a = Sub(x,m) b = Div(a,s) c = Cast<to=1>(b) d = MatMul(c,w)
        e = ArgMax<axis=1,keepdims=0>(d) f = Gather(cls,e) y = Cast<to=7>(f)
        """,
        {"x": random((3, 4), "float64")},
{"m": random((4,), "float64"), "s": random((4,), "float64", low=0.1), "w": random((4,
         3)), "cls": np.array([3, 5, 9], "int32")},
    ),
    "sklearn kmeans": Form(
        13, "float[N,4] x", "int64[N] y",
        """
        a = ReduceSumSquare<axes=[1],keepdims=1>(x) g = Gemm<alpha=-2.0,transB=1>(x,c,n)
        s = Add(a,g) y = ArgMin<axis=1,keepdims=0>(s)
        """,
        {"x": random((3, 4))},
{"c": random((2, 4)), "n": np.array([0.11462561041116714, 0.12961608171463013],
         "float32")},
    ),
    "two outputs": Form(
        13, "float[N,4] x", "float[N,4] prob, float[N,4] logits",
        "logits = Mul(x,s) prob = Softmax<axis=1>(logits)",
        {"x": random((3, 4))}, {"s": np.array(2.0, "float32")},
    ),
    "uint8 image": Form(
        13, "uint8[N,4,4,3] x", "float[N,3,4,4] y",
        """
        a = Cast<to=1>(x) t = Transpose<perm=[0,3,1,2]>(a) d = Div(t,k) s = Sub(d,m)
        y = Div(s,v)
        """,
        {"x": np.array([[[[101, 115, 141], [118, 71, 163], [236, 190, 61], [214, 235, 212]],
         [[32, 61, 254], [243, 178, 159], [181, 82, 231], [187, 51, 138]], [[202, 230, 92],
         [58, 161, 95], [60, 28, 80], [105, 252, 113]], [[17, 80, 218], [77, 195, 198], [145,
         8, 220], [215, 39, 26]]]], "uint8")},
{"k": np.array(255.0, "float32"), "m": random((3, 1, 1)), "v": random((3, 1, 1),
         low=0.1)},
    ),
    "resize linear dyn hw": Form(
        13, "float[N,4,A,B] x", "float[N,4,C,D] y",
        """
        y = Resize<mode="linear",coordinate_transformation_mode="half_pixel">(x,,sc)
        """,
        {"x": random((2, 4, 3, 5))}, {"sc": np.array([1.0, 1.0, 2.0, 2.0], "float32")},
    ),
    "resize 3d": Form(
        13, "float[N,2,5] x", "float[N,2,10] y",
        """
        y = Resize<mode="linear">(x,,s)
        """,
        {"x": random((1, 2, 5))}, {"s": np.array([1.0, 1.0, 2.0], "float32")},
    ),
    "torch resize sizes": Form(
        13, "float[N,2,5,4] x", "float[N,2,7,9] y",
        """
        s = Shape(x) a = Constant<value_ints=[0]>() b = Constant<value_ints=[2]>()
        nc = Slice(s,a,b) hw = Constant<value_ints=[7,9]>() t = Concat<axis=0>(nc,hw)
        y = Resize<mode="linear",coordinate_transformation_mode="pytorch_half_pixel">(x,,,t)
        """,
        {"x": random((1, 2, 5, 4))}, {},
    ),
    "resize nearest half_pixel 0.6 floor": Form(
        13, "float[N,2,5,4] x", "float[N,2,A,B] y",
        """
        y = Resize<mode="nearest",coordinate_transformation_mode="half_pixel",
          nearest_mode="floor">(x,,sc)
        """,
        {"x": random((1, 2, 5, 4))},
        {"sc": np.array([1.0, 1.0, 0.6000000238418579, 0.6000000238418579], "float32")},
    ),
    "resize nearest asymmetric 1.5 ceil": Form(
        13, "float[N,2,5,4] x", "float[N,2,A,B] y",
        """
        y = Resize<mode="nearest",coordinate_transformation_mode="asymmetric",
          nearest_mode="ceil">(x,,sc)
        """,
        {"x": random((1, 2, 5, 4))}, {"sc": np.array([1.0, 1.0, 1.5, 1.5], "float32")},
    ),
    "resize linear align_corners 1.5 floor": Form(
        13, "float[N,2,5,4] x", "float[N,2,A,B] y",
        """
        y = Resize<mode="linear",coordinate_transformation_mode="align_corners",
          nearest_mode="floor">(x,,sc)
        """,
        {"x": random((1, 2, 5, 4))}, {"sc": np.array([1.0, 1.0, 1.5, 1.5], "float32")},
    ),
    "resize linear asymmetric 1.5 floor": Form(
        13, "float[N,2,5,4] x", "float[N,2,A,B] y",
        """
        y = Resize<mode="linear",coordinate_transformation_mode="asymmetric",
          nearest_mode="floor">(x,,sc)
        """,
        {"x": random((1, 2, 5, 4))}, {"sc": np.array([1.0, 1.0, 1.5, 1.5], "float32")},
    ),
    "LSTM reverse lengths states": Form(
        14, "float[T,N,4] x, int32[N] l, float[1,N,3] h0, float[1,N,3] c0",
        "float[T,1,N,3] y, float[1,N,3] hn, float[1,N,3] cn",
        """
        y, hn, cn = LSTM<hidden_size=3,direction="reverse">(x,w,r,b,l,h0,c0)
        """,
        {"x": random((5, 2, 4)), "l": np.array([5, 3], "int32"), "h0": random((1, 2, 3)),
         "c0": random((1, 2, 3))},
        {"w": random((1, 12, 4)), "r": random((1, 12, 3)), "b": random((1, 24))},
    ),
    "GRU reverse states": Form(
        14, "float[T,N,4] x, float[1,N,3] h0", "float[T,1,N,3] y, float[1,N,3] hn",
        """
        y, hn = GRU<hidden_size=3,direction="reverse",linear_before_reset=1>(x,w,r,b,,h0)
        """,
        {"x": random((5, 2, 4)), "h0": random((1, 2, 3))},
        {"w": random((1, 9, 4)), "r": random((1, 9, 3)), "b": random((1, 18))},
    ),
    "GRU bidirectional lengths states": Form(
        14, "float[T,N,4] x, int32[N] l, float[2,N,3] h0",
        "float[T,2,N,3] y, float[2,N,3] hn",
        """
        y,
        hn = GRU<hidden_size=3,direction="bidirectional",linear_before_reset=1>(x,w,r,b,l,h0)
        """,
        {"x": random((5, 2, 4)), "l": np.array([5, 3], "int32"), "h0": random((2, 2, 3))},
        {"w": random((2, 9, 4)), "r": random((2, 9, 3)), "b": random((2, 18))},
    ),
    "LSTM bidirectional lengths states": Form(
        14, "float[T,N,4] x, int32[N] l, float[2,N,3] h0, float[2,N,3] c0",
        "float[T,2,N,3] y, float[2,N,3] hn, float[2,N,3] cn",
        """
        y, hn, cn = LSTM<hidden_size=3,direction="bidirectional">(x,w,r,b,l,h0,c0)
        """,
        {"x": random((5, 2, 4)), "l": np.array([5, 3], "int32"), "h0": random((2, 2, 3)),
         "c0": random((2, 2, 3))},
        {"w": random((2, 12, 4)), "r": random((2, 12, 3)), "b": random((2, 24))},
    ),
    "reducemin int": Form(
        13, "int64[2,4] x", "int64[2] y",
        "y = ReduceSum<keepdims=0>(x,a)",
        {"x": np.array([[0, 1, 2, 3], [4, 5, 6, 7]], "int64")}, {"a": np.array([1], "int64")},
    ),
    "depth to space by columns and rows": Form(
        13, "float[N,8,2,3] x", "float[N,2,4,6] y",
        'y = DepthToSpace<blocksize=2, mode="CRD">(x)',
        {"x": random((2, 8, 2, 3))}, {},
    ),
    "reversed sequences, batch first": Form(
        13, "float[2,4,3] x, int64[2] n", "float[2,4,3] y",
        "y = ReverseSequence<batch_axis=0, time_axis=1>(x, n)",
        {"x": random((2, 4, 3)), "n": np.array([3, 2])}, {},
    ),
    "softmax over several axes": Form(
        11, "float[2,3,4] x", "float[2,3,4] y",
        "y = Softmax<axis=1>(x)",
        {"x": random((2, 3, 4))}, {},
    ),
    "gelu": Form(
        20, "float[2,3] x", "float[2,3] y",
        'a = Gelu(x) b = Gelu<approximate="tanh">(x) c = Sub(a, b) d = Mul(c, k) y = Add(a, d)',
        {"x": 9 * random((2, 3))}, {"k": np.array(10, "float32")},
    ),
    "standardized": Form(
        13, "float[2,3,4,5] x", "float[2,3,4,5] y",
        "y = MeanVarianceNormalization(x)",
        {"x": random((2, 3, 4, 5))}, {},
    ),
    "layer norm over two axes": Form(
        17, "float[2,3,4] x", "float[2,3,4] y",
        "y = LayerNormalization<axis=1, epsilon=0.01>(x, g, b)",
        {"x": random((2, 3, 4))}, {"g": random((3, 4)), "b": random((3, 4))},
    ),
    "einsum over two letters": Form(
        13, "float[2,3,4] p, float[3,4,5] q", "float[2,5] y",
        'y = Einsum<equation="ijk,jkl->il">(p,q)',
        {"p": random((2, 3, 4)), "q": random((3, 4, 5))}, {},
    ),
}  # fmt: skip
