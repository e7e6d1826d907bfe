/**
 * A fountain code: a few more symbols than blocks give the blocks, whichever symbols arrive and
 * from however many senders.
 *
 * @example
 * ```ts
 * import { codeKey, SymbolCode, SymbolDecoder, SymbolEncoder } from '@bloomery/delivery/codes';
 *
 * const code = new SymbolCode({ bytes: content.length, blockBytes: 16384, key: codeKey(digest) });
 * const encoder = new SymbolEncoder(code, content);
 * const decoder = new SymbolDecoder(code);
 * for (let id = code.blocks; decoder.solve() > 0; id++)
 *   decoder.add({ ids: [id], payload: encoder.symbol(id) });
 * ```
 */

export { DeliveryError, type DeliveryErrorCode } from '../delivery-error.ts';
export {
  bestRecodingDegree,
  filteredShare,
  MOST_RECODED,
  recodedUsefulShare,
  usefulShare,
} from '../math/recoding.ts';
export { type DegreeDistribution, robustSoliton } from '../math/robust-soliton.ts';
export { type CodedSymbol, decodeSymbol, encodeSymbol } from './coded-symbol.ts';
export type { BlockKernel } from './kernel/make-blocks.ts';
export { planSegments, type Segment } from './plan-segments.ts';
export { chooseRecoded, type RecodeOptions, surelyNew } from './recode.ts';
export { type CodeShape, codeKey, MOST_BLOCKS, SymbolCode } from './symbol-code.ts';
export { SymbolDecoder, type SymbolDecoderOptions } from './symbol-decoder.ts';
export { SymbolEncoder, type SymbolEncoderOptions } from './symbol-encoder.ts';
export { type Reception, SymbolLedger } from './symbol-ledger.ts';
