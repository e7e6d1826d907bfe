// Makes a screenshot small: at most 64 colours, each pixel an index into them. The pictures of this
// page are flat, so the eye sees no difference, and the files are a third as large. Chromium reads
// the pixels, because Node has no reader of PNG; writing one takes twenty lines.

import { crc32, deflateSync } from 'node:zlib';

const COLOURS = 64;

/**
 * @param {import('playwright-core').Page} blank a page without a policy
 * @param {Buffer} png
 */
export async function smallPng(blank, png) {
  const { width, height, palette, indices } = await blank.evaluate(reduce, [png.toString('base64'), COLOURS]);
  const rows = Buffer.alloc((width + 1) * height);
  const pixels = Buffer.from(indices, 'base64');
  // Each row begins with the number of its filter, 0 for none.
  for (let y = 0; y < height; y++) pixels.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8); // 8 bits, indices into a palette
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette)),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * @param {string} type
 * @param {Buffer} data
 */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/**
 * Runs in the page. The palette has the most frequent colour of each small cube of colours, for the
 * most frequent cubes.
 * @param {[string, number]} input
 */
async function reduce([base64, most]) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const { width, height } = image;
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
    new OffscreenCanvas(width, height).getContext('2d')
  );
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const exact = [...counts].sort((a, b) => b[1] - a[1]).map(([pixel]) => pixel);
  const cubeOf = (/** @type {number} */ pixel) => pixel & 0xe0e0e0;
  /** @type {number[]} */
  const palette = exact.slice(0, 24);
  const cubes = new Set(palette.map(cubeOf));
  for (const pixel of exact) {
    if (palette.length >= most) break;
    if (cubes.has(cubeOf(pixel))) continue;
    cubes.add(cubeOf(pixel));
    palette.push(pixel);
  }
  const distance = (/** @type {number} */ a, /** @type {number} */ b) =>
    [0, 8, 16].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
  const nearest = new Map(
    exact.map((pixel) => {
      let best = 0;
      for (let i = 1; i < palette.length; i++)
        if (distance(pixel, palette[i]) < distance(pixel, palette[best])) best = i;
      return [pixel, best];
    }),
  );
  const indices = Uint8Array.from(pixels, (pixel) => nearest.get(pixel) ?? 0);
  let text = '';
  for (let i = 0; i < indices.length; i += 8192)
    text += String.fromCharCode(...indices.subarray(i, i + 8192));
  return {
    width,
    height,
    palette: palette.flatMap((pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]),
    indices: btoa(text),
  };
}
