"""all-MiniLM-L6-v2 as an ONNX graph, written from its safetensors: no torch, the same bytes each time.

One unpadded text a call needs no attention mask. The graph ends in mean pooling and unit length, as the
model's own `modules.json` has it. Operators of the `com.microsoft` domain are ONNX Runtime's fused forms.

The graph for queries is a quarter of the size: the rows of its matrices are int8 with a scale for each 128
values, the vectors of words with one scale each. It loads twice as fast, in half of the memory; documents
are never embedded with it (docs/decisions/0018-one-encoder-on-disk.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

LAYERS, HEADS, HIDDEN = 6, 12, 384
EPSILON = 1e-12  # config.json: layer_norm_eps
BLOCK = 128
"""Values of a row that share a scale; both widths of the model's matrices are multiples of it."""

OPSET = 17
IR_VERSION = 8

Array = NDArray[np.float32]
Precision = Literal["fp32", "int8"]


def build_graph(weights: Path, precision: Precision = "fp32") -> bytes:
    """The serialised model: input `ids` INT64 [1, tokens], output `vector` FLOAT [1, 384], unit length."""
    tensors = load_file(str(weights))
    builder = _Builder({name.removeprefix("bert."): value for name, value in tensors.items()}, precision)
    return bytes(builder.model().SerializeToString(deterministic=True))


class _Builder:
    def __init__(self, tensors: dict[str, Array], precision: Precision) -> None:
        self._tensors = tensors
        self._rows_are_int8 = precision == "int8"
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        hidden = self._embeddings()
        for layer in range(LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        pooled = self._node("ReduceMean", [hidden], axes=[1], keepdims=0)
        self._node("LpNormalization", [pooled], output="vector", axis=-1, p=2)
        graph = helper.make_graph(
            self._nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, HIDDEN])],
            self._weights,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="syntropy")

    def _embeddings(self) -> str:
        words = self._rows("embeddings.word_embeddings.weight", "ids")
        # Text A only: the token type's row is the same for every token and joins the positions.
        positions = (
            self._tensors["embeddings.position_embeddings.weight"]
            + self._tensors["embeddings.token_type_embeddings.weight"][0]
        )
        table = self._constant("positions", positions.astype(np.float32))
        length = self._node("Gather", [self._node("Shape", ["ids"]), self._constant("one", np.array([1], np.int64))])
        rows = self._node(
            "Slice",
            [
                table,
                self._constant("zero", np.array([0], np.int64)),
                length,
                self._constant("axis_rows", np.array([0], np.int64)),
            ],
        )
        return self._node(
            "LayerNormalization",
            [
                self._node("Add", [words, rows]),
                self._weight("embeddings.LayerNorm.weight"),
                self._weight("embeddings.LayerNorm.bias"),
            ],
            epsilon=EPSILON,
            axis=-1,
        )

    def _layer(self, hidden: str, name: str) -> str:
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._tensors[f"{p}.weight"].T for p in parts], axis=1)
        bias = np.concatenate([self._tensors[f"{p}.bias"] for p in parts])
        if self._rows_are_int8:
            projected = self._node(
                "Add",
                [self._quantised_product(hidden, f"{name}.qkv", weight.T), self._constant(f"{name}.qkv.bias", bias)],
            )
            attention = self._node(
                "MultiHeadAttention", self._split(projected, 3), domain="com.microsoft", num_heads=HEADS
            )
        else:
            attention = self._node(
                "Attention",
                [hidden, self._constant(f"{name}.qkv.weight", weight), self._constant(f"{name}.qkv.bias", bias)],
                domain="com.microsoft",
                num_heads=HEADS,
            )
        attention = self._linear(attention, f"{name}.attention.output.dense")
        hidden = self._skip_norm(attention, hidden, f"{name}.attention.output")
        wide = self._linear(hidden, f"{name}.intermediate.dense")
        wide = self._node("BiasGelu", [wide, self._weight(f"{name}.intermediate.dense.bias")], domain="com.microsoft")
        return self._skip_norm(self._linear(wide, f"{name}.output.dense"), hidden, f"{name}.output")

    def _linear(self, value: str, name: str) -> str:
        weight = self._tensors[f"{name}.weight"]
        if self._rows_are_int8:
            return self._quantised_product(value, name, weight)
        return self._node("MatMul", [value, self._constant(f"{name}.weight.T", weight.T)])

    def _rows(self, name: str, ids: str) -> str:
        """Rows of a table by their numbers."""
        if not self._rows_are_int8:
            return self._node("Gather", [self._weight(name), ids])
        values, scales = _quantised(self._tensors[name], axis=1)
        picked = self._node("Gather", [self._constant(f"{name}.int8", values), ids])
        scale = self._node("Gather", [self._constant(f"{name}.scale", scales), ids])
        return self._node("Mul", [self._node("Cast", [picked], to=TensorProto.FLOAT), scale])

    def _quantised_product(self, value: str, name: str, weight: Array) -> str:
        """`value` times the transpose of a matrix [outputs, inputs] of int8 rows."""
        outputs, inputs = weight.shape
        values, scales = _quantised(weight.reshape(outputs, inputs // BLOCK, BLOCK), axis=2)
        shifted = (values.astype(np.int16) + 128).astype(np.uint8)  # the operator's zero point
        return self._node(
            "MatMulNBits",
            [value, self._constant(f"{name}.int8", shifted), self._constant(f"{name}.scale", scales[:, :, 0])],
            domain="com.microsoft",
            K=inputs,
            N=outputs,
            bits=8,
            block_size=BLOCK,
            accuracy_level=4,  # products of int8: twice as fast as fp32's, five times as fast as without it
        )

    def _split(self, value: str, parts: int) -> list[str]:
        """A value in equal parts along its last axis."""
        names = [f"Split_{len(self._nodes)}_{part}" for part in range(parts)]
        sizes = self._constant(f"sizes_{len(self._nodes)}", np.array([HIDDEN] * parts, np.int64))
        self._nodes.append(helper.make_node("Split", [value, sizes], names, axis=-1))
        return names

    def _skip_norm(self, value: str, skip: str, name: str) -> str:
        # ONNX Runtime's fused SkipLayerNormalization takes three times as long as its parts.
        biased = self._node("Add", [value, self._weight(f"{name}.dense.bias")])
        return self._node(
            "LayerNormalization",
            [
                self._node("Add", [biased, skip]),
                self._weight(f"{name}.LayerNorm.weight"),
                self._weight(f"{name}.LayerNorm.bias"),
            ],
            epsilon=EPSILON,
            axis=-1,
        )

    def _weight(self, name: str) -> str:
        return self._constant(name, self._tensors[name])

    def _constant(self, name: str, value: NDArray[np.generic]) -> str:
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(
        self, operator: str, inputs: list[str], *, output: str = "", domain: str = "", **attributes: object
    ) -> str:
        name = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name


def _quantised(values: Array, axis: int) -> tuple[NDArray[np.int8], Array]:
    """(int8 values, fp32 scales): the largest of each row is 127; `axis` is the one a scale holds for."""
    scales = np.abs(values).max(axis=axis, keepdims=True) / np.float32(127)
    scales = np.where(scales == 0, np.float32(1), scales).astype(np.float32)
    return np.round(values / scales).astype(np.int8), scales
