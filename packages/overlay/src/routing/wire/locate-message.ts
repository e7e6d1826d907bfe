/**
 * The question that a query is, and its answer. docs/spec/routing.md has the bytes.
 *
 *     question   version 1, hash 8, reach 1, hops left 1, time left in ms 6, path filter
 *     answer     version 1, 1 if found, hops left 1, hops travelled 1, name of the holder, path filter
 */

import { PathFilter } from 'bloomery';
import { type HashBits, MessageReader, MessageWriter } from './message-bytes.ts';
import { RouteError } from './route-error.ts';

export interface LocateQuestion {
  readonly hash: HashBits;
  readonly reach: number;
  readonly hopsLeft: number;
  readonly timeLeftMs: number;
  readonly path: PathFilter;
}

export interface LocateAnswer {
  /** The id of the node that holds the key, or null. */
  readonly holder: string | null;
  readonly hopsLeft: number;
  /** Hops that the query travelled from the node that answers. */
  readonly hops: number;
  readonly path: PathFilter;
}

export function writeQuestion({ hash, reach, hopsLeft, timeLeftMs, path }: LocateQuestion): Uint8Array {
  return new MessageWriter()
    .hash(hash)
    .byte(reach)
    .byte(hopsLeft)
    .whole(Math.max(0, Math.floor(timeLeftMs)))
    .rest(path.encode())
    .finish();
}

export function readQuestion(bytes: Uint8Array): LocateQuestion {
  const reader = new MessageReader(bytes);
  return {
    hash: reader.hash(),
    reach: reader.byte(),
    hopsLeft: reader.byte(),
    timeLeftMs: reader.whole(),
    path: pathOf(reader.rest()),
  };
}

export function writeAnswer({ holder, hopsLeft, hops, path }: LocateAnswer): Uint8Array {
  return new MessageWriter()
    .byte(holder === null ? 0 : 1)
    .byte(hopsLeft)
    .byte(Math.min(255, hops))
    .name(holder ?? '')
    .rest(path.encode())
    .finish();
}

export function readAnswer(bytes: Uint8Array): LocateAnswer {
  const reader = new MessageReader(bytes);
  const isFound = reader.choice(1) === 1;
  const [hopsLeft, hops, name] = [reader.byte(), reader.byte(), reader.name()];
  if (isFound === (name === '')) reader.fail('a name exactly if the key was found', JSON.stringify(name));
  return { holder: isFound ? name : null, hopsLeft, hops, path: pathOf(reader.rest()) };
}

function pathOf(bytes: Uint8Array): PathFilter {
  try {
    const path = PathFilter.at(bytes);
    if (path.byteLength === bytes.length) return path;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'FrameError') throw error;
  }
  throw new RouteError(
    'message',
    'Cannot read a message: expected a path filter at its end, got other bytes',
  );
}
