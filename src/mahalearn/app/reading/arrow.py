"""How much memory an Arrow file asks for, before it is taken.

Buffers may be compressed, each below its length when unpacked. Arrow makes room for that length
before it unpacks, so a few bytes can ask for any amount. The lengths stand in the messages of the
file, which are FlatBuffers (https://arrow.apache.org/docs/format/Columnar.html). And the cells of a
column may share one long text.
"""

import struct

import numpy as np

_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3


def unpacked_bytes(data):
    """Bytes of all compressed buffers of an Arrow file or stream once they are unpacked.

    Parameters
    ----------
    data : bytes
        The file; its footer, or its first message, is known to be valid.

    Returns
    -------
    size : int
    """
    return sum(map(_unpacked, _messages(data)))


def _messages(data):
    """Messages of a stream one after the other, or those that the footer of a file lists."""
    import pyarrow as pa

    view = pa.py_buffer(data)
    if not data.startswith(b"ARROW1"):
        yield from pa.ipc.MessageReader.open_stream(view)
        return
    size = _read("<i", data, len(data) - 10)
    footer = data[len(data) - 10 - size : len(data) - 10]
    table = _read("<I", footer, 0)
    for field in (2, 3):  # dictionaries and record batches
        for block in _vector(footer, table, field, 24):
            yield pa.ipc.read_message(view.slice(_read("<q", footer, block)))


def _unpacked(message):
    meta = message.metadata.to_pybytes()
    table = _read("<I", meta, 0)
    kind = _field(meta, table, 1)
    kind = 0 if kind is None else meta[kind]
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return 0
    batch = _table(meta, table, 2)
    if kind == _DICTIONARY_BATCH:
        batch = _table(meta, batch, 1)
    if _field(meta, batch, 3) is None:  # not compressed: the buffers lie in the file
        return 0
    lengths = []
    for buffer in _vector(meta, batch, 2, 16):
        start, size = _read("<qq", meta, buffer)
        if size >= 8:
            lengths.append(_read("<q", message.body, start))
    return sum(length for length in lengths if length > 0)  # -1: this buffer is not compressed


def _read(kind, data, at):
    if at < 0:
        raise ValueError("an offset outside of the file")
    values = struct.unpack_from(kind, data, at)
    return values[0] if len(values) == 1 else values


def _field(data, table, number):
    """Where a field of a FlatBuffers table lies, None if it is absent."""
    slots = table - _read("<i", data, table)
    entry = 4 + 2 * number
    offset = _read("<H", data, slots + entry) if entry < _read("<H", data, slots) else 0
    return table + offset if offset else None


def _table(data, table, number):
    at = _field(data, table, number)
    if at is None:
        raise ValueError("a table is missing")
    return at + _read("<I", data, at)


def _vector(data, table, number, width):
    """Where the elements of a vector of structs lie."""
    at = _field(data, table, number)
    if at is None:
        return ()
    at += _read("<I", data, at)
    first, length = at + 4, _read("<I", data, at)
    return range(first, first + length * width, width)


# --- texts that cells share -----------------------------------------------------------------------


def text_bytes(table):
    """Bytes of the texts that cells of an Arrow table share, once each cell has its own.

    Parameters
    ----------
    table : pyarrow.Table
        Validated.

    Returns
    -------
    size : int
    """
    return sum(_shared(chunk) for column in table.columns for chunk in column.chunks)


def _shared(array):
    import pyarrow as pa

    if pa.types.is_dictionary(array.type) and is_text_type(array.dictionary.type):
        lengths = _lengths(array.dictionary)
        return int(lengths[array.indices.drop_null().to_numpy()].sum())
    if array.type in (pa.string_view(), pa.binary_view()):
        return int(_lengths(array).sum())
    return 0


def is_text_type(kind):
    """True if cells of an Arrow type are texts or bytes."""
    import pyarrow as pa

    tests = ("string", "large_string", "binary", "large_binary", "string_view", "binary_view")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def _lengths(array):
    """Bytes of each text of an array, 0 where it is missing."""
    import pyarrow as pa
    from pyarrow import compute

    if array.type in (pa.string_view(), pa.binary_view()):  # the first 4 of the 16 bytes of a view
        views = np.frombuffer(array.buffers()[1], dtype=np.int32).reshape(-1, 4)
        lengths = views[array.offset : array.offset + len(array), 0]
        return np.where(array.is_valid().to_numpy(zero_copy_only=False), lengths, 0).astype(int)
    lengths = compute.binary_length(array).fill_null(0)
    return lengths.to_numpy(zero_copy_only=False).astype(int)
