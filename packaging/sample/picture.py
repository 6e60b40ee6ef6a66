"""A small picture as a user would paste it: a cut of the report with the sum that is wrong. PNG, made by hand.

The deflate blocks are stored, not packed: packed ones differ between builds of zlib.
"""

import base64
import struct
import zlib

LETTERS = {
    "0": "0e11191513110e", "1": "040c040404040e", "2": "0e11010204081f", "3": "1f02040201110e", "4": "02060a121f0202",
    "5": "1f101e0101110e", "6": "0608101e11110e", "7": "1f010204080808", "8": "0e11110e11110e", "9": "0e11110f01020c",
    "A": "0e11111f111111", "B": "1e11111e11111e", "C": "0e11101010110e", "E": "1f10101e10101f", "G": "0e11101711110e",
    "I": "0e04040404040e", "K": "11121418141211", "L": "1010101010101f", "N": "11191513111111", "O": "0e11111111110e",
    "R": "1e11111e141211", "S": "0f10100e01011e", "T": "1f040404040404", "U": "1111111111110e", "D": "1e11111111111e",
    ".": "00000000000c0c", ",": "00000000060404", "-": "0000001f000000", "+": "0004041f040400", "=": "00001f001f0000",
    "?": "0e110102040004", " ": "00000000000000", "P": "1e11111e101010", "Y": "11110a04040404",
    "H": "1111111f111111", "V": "1111110a0a0404", "W": "11111115151b11", "M": "111b1515111111",
    "F": "1f10101e101010", "X": "11110a040a1111",
}  # fmt: skip
"""Seven rows of five dots, a byte a row."""
ROWS = (
    "  SUB-TOTALS IN EUR",
    "",
    "  ASSETS        5,811.71",
    "  EXPENSES      8,943.00",
    "  INCOME      -12,841.60",
    "  LIABILITIES  -1,918.45",
    "  ---------------------",
    "  SUM OF THESE     -5.34",
    "  REPORT SAYS      -5.35  ?",
)
SCALE, LINE = 2, 12


def picture() -> str:
    """Base64 of the PNG."""
    width, height = 28 * 6 * SCALE, (len(ROWS) * LINE + 8) * SCALE
    dots = [[1] * width for _ in range(height)]
    for n, row in enumerate(ROWS):
        for m, letter in enumerate(row):
            _draw(dots, m * 6 * SCALE, (n * LINE + 6) * SCALE, LETTERS[letter])
    return base64.b64encode(_png(dots)).decode()


def _draw(dots: list[list[int]], left: int, top: int, letter: str) -> None:
    for y, row in enumerate(bytes.fromhex(letter)):
        for x in range(5):
            if row >> (4 - x) & 1:
                for dy in range(SCALE):
                    for dx in range(SCALE):
                        dots[top + y * SCALE + dy][left + x * SCALE + dx] = 0


def _png(dots: list[list[int]]) -> bytes:
    width = len(dots[0])
    raw = b"".join(
        b"\0"
        + int("".join(map(str, row)).ljust(-(-width // 8) * 8, "1"), 2).to_bytes(-(-width // 8))
        for row in dots
    )
    head = struct.pack(">IIBBBBB", width, len(dots), 1, 0, 0, 0, 0)
    packed = b"\x78\x01" + _stored(raw) + struct.pack(">I", zlib.adler32(raw))
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + _chunk(b"IDAT", packed)
        + _chunk(b"IEND", b"")
    )


def _stored(raw: bytes) -> bytes:
    pieces = [raw[at : at + 65_535] for at in range(0, len(raw), 65_535)]
    return b"".join(
        struct.pack("<BHH", n == len(pieces) - 1, len(piece), 65_535 - len(piece)) + piece
        for n, piece in enumerate(pieces)
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
