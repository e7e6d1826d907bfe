/**
 * The sections of a payload: which bytes of a structure's frame are counters, positions, slots,
 * whole filters or plain bytes. Each form has its own code (section-code.ts) and its own way to
 * describe changes (section-changes.ts). A new structure that can be sent needs only an entry here.
 *
 * BloomFilter and BlockedBloomFilter have one section of bits, and are coded without sections
 * (compressed-frame.ts): their bytes were specified before the others'.
 */

import {
  COUNT_MIN_FRAME,
  HEAVY_FRAME,
  RANGE_FRAME,
  SPECTRAL_FRAME,
  TOTAL_BYTES,
} from '../../frames/counter-kinds.ts';
import type { FrameKind, RawHead } from '../../frames/frame.ts';
import { COUNTING_FRAME } from '../../frames/frame-kinds.ts';
import {
  ATTENUATED_FRAME,
  type NestingKind,
  ROTATING_FRAME,
  SCALABLE_FRAME,
} from '../../frames/nested-kinds.ts';
import { BLOOMIER_FRAME, HASH_LIST_FRAME, INDEX_BITS, STATIC_FRAME } from '../../frames/table-kinds.ts';
import { positionWidth } from '../../kernel/lists/sorted-list.ts';

/**
 * - counters: `count` integers of `width` bits
 * - positions: `count` rising integers of `width` bits, below `range`
 * - slots: `count` fields of `width` bits, random except where they are 0
 * - filters: `count` frames of Bloom filters with their notes
 * - bytes: bytes of any meaning; their count is `end - start`
 */
export interface Section {
  readonly form: 'counters' | 'positions' | 'slots' | 'filters' | 'bytes';
  /** Offsets in the payload, in bytes. */
  readonly start: number;
  readonly end: number;
  readonly count: number;
  readonly width: number;
  readonly range: number;
}

/** The sections of a frame, which fill its payload. The head must have been checked. */
export function sectionsOf(kind: FrameKind, { parameters }: Pick<RawHead, 'parameters'>): Section[] {
  const parts = partsOf(kind, parameters);
  let end = 0;
  return parts.map(({ form, count, width, range = 0, bytes = Math.ceil((count * width) / 8) }) => {
    const start = end;
    end += bytes;
    return { form, start, end, count, width, range };
  });
}

/** Whether two sections hold the same number of units of the same width. */
export function isLike(a: Section | undefined, b: Section): a is Section {
  return a !== undefined && a.form === b.form && a.count === b.count && a.width === b.width;
}

interface Part extends Pick<Section, 'form' | 'count' | 'width'> {
  readonly range?: number;
  /** The number of bytes, if it does not follow from count and width. */
  readonly bytes?: number;
}

const TOTAL: Part = { form: 'bytes', count: 0, width: 0, bytes: TOTAL_BYTES };

function partsOf(kind: FrameKind, parameters: readonly number[]): readonly Part[] {
  const last = parameters[parameters.length - 1];
  switch (kind) {
    case COUNTING_FRAME: {
      const [count, , width] = parameters;
      return [{ form: 'counters', count, width }];
    }
    case SPECTRAL_FRAME: {
      const [count, secondary, , width] = parameters;
      return [TOTAL, { form: 'counters', count, width }, { form: 'counters', count: secondary, width }];
    }
    case COUNT_MIN_FRAME:
      return sketch(parameters);
    case HEAVY_FRAME:
      return [...sketch(parameters), { form: 'bytes', count: 0, width: 0, bytes: last }];
    case RANGE_FRAME: {
      const [universeBits, exactBits, ...shape] = parameters;
      const exact: Part = { form: 'counters', count: 2 ** exactBits, width: 64 };
      return exactBits === universeBits ? [exact] : [exact, ...sketch(shape)];
    }
    case BLOOMIER_FRAME: {
      const [, checkBits, valueBits, , segments, length] = parameters;
      return [{ form: 'slots', count: (segments + 3) * length, width: INDEX_BITS + checkBits + valueBits }];
    }
    case STATIC_FRAME: {
      const [, width, , segments, length] = parameters;
      return [{ form: 'slots', count: segments > 0 ? (segments + 3) * length : length, width }];
    }
    case HASH_LIST_FRAME: {
      const [range, , , count] = parameters;
      return [{ form: 'positions', count, width: positionWidth(range), range }];
    }
    case SCALABLE_FRAME:
    case ROTATING_FRAME:
    case ATTENUATED_FRAME:
      return [{ form: 'filters', count: (kind as NestingKind).count(parameters), width: 0, bytes: last }];
    default:
      throw new TypeError(`Cannot find the sections of a frame: expected another kind, got ${kind.name}`);
  }
}

function sketch([width, depth, counterBits]: readonly number[]): Part[] {
  return [TOTAL, { form: 'counters', count: width * depth, width: counterBits }];
}
