/**
 * Rendezvous scores of blocks: of all nodes that may ask the origin, the one with the highest score
 * owns a block. packages/transport ranks members for keys of 64 bits; here one bit mixer per block
 * and node is enough, because names are random and a plan asks for up to 2^18 blocks at once.
 */

/** The score of a node for a block. `node` is its name: 32 hexadecimal digits. */
export function ownerScore(block: number, node: string): number {
  const name = Number.parseInt(node.slice(0, 8), 16);
  const rest = Number.parseInt(node.slice(8, 16), 16);
  return mix32(name ^ mix32(block ^ rest)) >>> 0;
}

/** The finaliser of MurmurHash3 for 32 bits. */
function mix32(word: number): number {
  let x = word;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
