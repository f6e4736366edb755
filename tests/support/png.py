"""Small PNG files: a picture of a page has few colours, so a palette is enough."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from playwright.sync_api import BrowserContext

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COUNT_COLOURS = """
async (source) => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const { width, height } = image;
  const canvas = new OffscreenCanvas(width, height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const byCount = [...counts].sort((a, b) => b[1] - a[1]).map(([pixel]) => pixel);
  const parts = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const measure = ([r, g, b], [red, green, blue]) =>
    2 * (r - red) ** 2 + 4 * (g - green) ** 2 + 3 * (b - blue) ** 2;
  // First colours that differ clearly, so that small coloured marks keep theirs.
  const chosen = new Map();
  for (const minimum of [1500, 1]) {
    for (const pixel of byCount) {
      if (chosen.size === 256) break;
      const colour = parts(pixel);
      const isNew = [...chosen.values()].every((c) => measure(c, colour) >= minimum);
      if (isNew) chosen.set(pixel, colour);
    }
  }
  const palette = [...chosen.keys()];
  const colours = [...chosen.values()];
  const indexOf = new Map(palette.map((pixel, index) => [pixel, index]));
  for (const pixel of byCount) {
    if (indexOf.has(pixel)) continue;
    const distances = colours.map((colour) => measure(colour, parts(pixel)));
    indexOf.set(pixel, distances.indexOf(Math.min(...distances)));
  }
  const indices = Uint8Array.from(pixels, (pixel) => indexOf.get(pixel));
  let text = "";
  for (let start = 0; start < indices.length; start += 32768) {
    text += String.fromCharCode(...indices.subarray(start, start + 32768));
  }
  return { width, height, colours, indices: btoa(text) };
}
"""


def make_small_png(context: BrowserContext, picture: bytes) -> bytes:
    """Return the picture with the 256 most frequent of its colours."""
    page = context.new_page()
    source = "data:image/png;base64," + base64.b64encode(picture).decode()
    found: dict[str, Any] = page.evaluate(_COUNT_COLOURS, source)
    page.close()
    indices = base64.b64decode(found["indices"])
    palette = b"".join(map(bytes, found["colours"]))
    return encode_png(found["width"], found["height"], palette, indices)


def encode_png(width: int, height: int, palette: bytes, indices: bytes) -> bytes:
    """Return a PNG of 8-bit indices into a palette of RGB values."""
    rows = b"".join(
        b"\0" + indices[start : start + width]
        for start in range(0, width * height, width)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_encode_chunk(*chunk) for chunk in chunks)


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
