"""An interpreter for the kernel's classic packet filter, as far as filters of system calls use it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from trimtab_worker.seccomp import Instruction

LOAD, AND, JUMP, EQUAL, AT_LEAST, ABOVE, ANY_BIT, RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x25, 0x45, 0x06
MOST_INSTRUCTIONS = 4096


def verdict(program: Sequence[Instruction], *, audit: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the kernel would do with a call: the value that the program returns.

    Refuses what the kernel refuses to load: jumps past the end, codes it does not know, loads outside the data.
    """
    assert len(program) <= MOST_INSTRUCTIONS
    data = struct.pack("<IIQ6Q", number & 0xFFFF_FFFF, audit, 0, *[*arguments, *[0] * (6 - len(arguments))])
    accumulator = position = 0
    while True:
        one = program[position]
        position += 1
        if one.code == RETURN:
            return one.operand
        if one.code == LOAD:
            assert one.operand % 4 == 0
            (accumulator,) = struct.unpack_from("<I", data, one.operand)
        elif one.code == AND:
            accumulator &= one.operand
        elif one.code == JUMP:
            position += one.operand
        else:
            position += one.yes if _holds(one, accumulator) else one.no


def _holds(one: Instruction, accumulator: int) -> bool:
    assert 0 <= one.yes <= 255
    assert 0 <= one.no <= 255
    if one.code == EQUAL:
        return accumulator == one.operand
    if one.code == AT_LEAST:
        return accumulator >= one.operand
    if one.code == ABOVE:
        return accumulator > one.operand
    assert one.code == ANY_BIT
    return bool(accumulator & one.operand)
