"""Converts a BERT sentence-embedding model (config.json, tokenizer.json, model.safetensors) to one GGUF file.

Standard library only, and streaming: tensors pass through in pieces, so the peak is a few megabytes, not the model's size.
Matrices become F16, vectors and the small position and type tables stay F32, as llama.cpp's own tools do it.
"""

import array
import json
import struct
import sys

# Value types and tensor types of the GGUF format (version 3).
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_F32, _F16 = 0, 1
_ALIGNMENT = 32
_POOLING_MEAN = 1
# Kinds of tokens in tokenizer.ggml.token_type.
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5

_PIECE_BYTES = 1 << 18
_HEADER_LIMIT = 10 << 20  # of a safetensors file; a larger one is no model we know

_TOP_TENSORS = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.LayerNorm": "token_embd_norm",
}
_LAYER_TENSORS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_KEPT_F32 = ("token_types.weight", "position_embd.weight")


class FormatError(Exception):
    """The source is not the kind of model this converter knows."""


def _gguf_name(name):
    """The GGUF name of a tensor, or None for one that inference does not use."""
    if name == "embeddings.position_ids" or name.startswith("pooler."):
        return None
    stem, _, leaf = name.rpartition(".")
    if stem in _TOP_TENSORS:
        return f"{_TOP_TENSORS[stem]}.{leaf}"
    parts = stem.split(".", 3)  # encoder, layer, number, rest
    if len(parts) != 4 or parts[:2] != ["encoder", "layer"] or parts[3] not in _LAYER_TENSORS:
        raise FormatError(f"unknown tensor {name}")
    return f"blk.{parts[2]}.{_LAYER_TENSORS[parts[3]]}.{leaf}"


def _text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _entry(key, kind, value):
    """One metadata entry; a list becomes an array of `kind`."""
    packers = {
        _UINT32: lambda v: struct.pack("<I", v),
        _INT32: lambda v: struct.pack("<i", v),
        _FLOAT32: lambda v: struct.pack("<f", v),
        _BOOL: lambda v: struct.pack("<?", v),
        _STRING: _text,
    }
    pack = packers[kind]
    if isinstance(value, list):
        body = struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(pack(v) for v in value)
    else:
        body = struct.pack("<I", kind) + pack(value)
    return _text(key) + body


def _vocabulary(tokenizer):
    """Token texts (word starts marked with U+2581, continuations bare) and their kinds, by id; and the table text -> id."""
    table = tokenizer["model"]["vocab"]
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    texts, kinds = [""] * len(table), [_NORMAL] * len(table)
    for token, number in table.items():
        if token in special:
            texts[number], kinds[number] = token, _CONTROL
            continue
        texts[number] = token[2:] if token.startswith("##") else "\u2581" + token
        if token.startswith("[unused"):
            kinds[number] = _UNUSED
    return texts, kinds, table


def _metadata(name, config, tokenizer):
    if config.get("model_type") != "bert" or config.get("position_embedding_type", "absolute") != "absolute":
        raise FormatError("config.json does not describe a BERT model with absolute positions")
    texts, kinds, ids = _vocabulary(tokenizer)
    return [
        _entry("general.architecture", _STRING, "bert"),
        _entry("general.type", _STRING, "model"),
        _entry("general.name", _STRING, name),
        _entry("general.license", _STRING, "apache-2.0"),
        _entry("general.file_type", _UINT32, 1),  # mostly F16
        _entry("general.quantization_version", _UINT32, 2),
        _entry("bert.block_count", _UINT32, config["num_hidden_layers"]),
        _entry("bert.context_length", _UINT32, config["max_position_embeddings"]),
        _entry("bert.embedding_length", _UINT32, config["hidden_size"]),
        _entry("bert.feed_forward_length", _UINT32, config["intermediate_size"]),
        _entry("bert.attention.head_count", _UINT32, config["num_attention_heads"]),
        _entry("bert.attention.layer_norm_epsilon", _FLOAT32, config["layer_norm_eps"]),
        _entry("bert.attention.causal", _BOOL, False),
        _entry("bert.pooling_type", _UINT32, _POOLING_MEAN),
        _entry("tokenizer.ggml.model", _STRING, "bert"),
        _entry("tokenizer.ggml.pre", _STRING, "jina-v2-en"),
        _entry("tokenizer.ggml.token_type_count", _UINT32, config["type_vocab_size"]),
        _entry("tokenizer.ggml.tokens", _STRING, texts),
        _entry("tokenizer.ggml.token_type", _INT32, kinds),
        _entry("tokenizer.ggml.unknown_token_id", _UINT32, ids["[UNK]"]),
        _entry("tokenizer.ggml.seperator_token_id", _UINT32, ids["[SEP]"]),  # spelt so by llama.cpp
        _entry("tokenizer.ggml.padding_token_id", _UINT32, ids["[PAD]"]),
        _entry("tokenizer.ggml.cls_token_id", _UINT32, ids["[CLS]"]),
        _entry("tokenizer.ggml.mask_token_id", _UINT32, ids["[MASK]"]),
        _entry("tokenizer.ggml.bos_token_id", _UINT32, ids["[CLS]"]),
    ]


def _padding(size):
    return b"\0" * (-size % _ALIGNMENT)


def _read_exactly(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise FormatError("model.safetensors ends early")
    return data


def _tensors(weights):
    """The tensors of a safetensors stream in the order of their data: (name, shape, begin, end); the stream is left at the data."""
    (size,) = struct.unpack("<Q", _read_exactly(weights, 8))
    if size > _HEADER_LIMIT:
        raise FormatError("model.safetensors has an oversized header")
    found = []
    for name, entry in json.loads(_read_exactly(weights, size)).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F32" and _gguf_name(name):
            raise FormatError(f"tensor {name} is {entry['dtype']}, expected F32")
        found.append((name, entry["shape"], begin, end))
    return sorted(found, key=lambda tensor: tensor[2])


def _to_f16(piece):
    floats = array.array("f")
    floats.frombytes(piece)
    if sys.byteorder == "big":
        floats.byteswap()
    return struct.pack(f"<{len(floats)}e", *floats)


def convert(name, config, tokenizer, weights, out):
    """Writes the GGUF form of a model to the binary stream `out`.

    `config` and `tokenizer` are the parsed JSON files, `weights` a binary stream at the start of model.safetensors.
    """
    metadata = _metadata(name, config, tokenizer)
    infos, plan, offset = [], [], 0
    for source_name, shape, begin, end in _tensors(weights):
        target = _gguf_name(source_name)
        half = target is not None and len(shape) == 2 and target not in _KEPT_F32
        plan.append((begin, end, target, half))
        if target is None:
            continue
        infos.append(_text(target) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
                     + struct.pack("<IQ", _F16 if half else _F32, offset))
        size = (end - begin) // 2 if half else end - begin
        offset += size + len(_padding(size))

    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(metadata)) + b"".join(metadata) + b"".join(infos)
    out.write(head + _padding(len(head)))

    position = 0
    for begin, end, target, half in plan:
        if begin != position or (end - begin) % 4:
            raise FormatError("model.safetensors has gaps, overlaps or broken tensors")
        position, written = end, 0
        while begin < end:
            piece = _read_exactly(weights, min(_PIECE_BYTES, end - begin))
            begin += len(piece)
            if target is not None:
                written += out.write(_to_f16(piece) if half else piece)
        if target is not None:
            out.write(_padding(written))
