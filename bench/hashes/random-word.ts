/**
 * Random 32-bit numbers that depend on two indices alone, so that a run can be repeated and does not
 * depend on the order of calls: two rounds of the mixer lowbias32 (Wellons 2018).
 */
export function randomWord(stream: number, index: number): number {
  return mixed(mixed(stream + 0x9e3779b9) ^ index);
}

function mixed(value: number): number {
  let x = value ^ (value >>> 16);
  x = Math.imul(x, 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return x ^ (x >>> 15);
}
