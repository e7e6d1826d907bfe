/**
 * The entry point `bloomery/formats`: the parts that all foreign formats share. Each format is an
 * entry point of its own, such as `bloomery/formats/guava`, so that a program carries only the
 * formats that it imports. `bloomery/formats/sniff` carries all of them.
 */

export {
  cannotConvert,
  type ForeignBloomFilter,
  type ForeignFilter,
  type HashedFormat,
} from './shared/foreign-filter.ts';
export { FOREIGN_FORMATS, type ForeignFormat } from './shared/foreign-formats.ts';
export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';
