/** The answer of `bloomery loops`, as text for people and as data for programs. */

import { formatAddress, type HeaderCounts } from '@bloomery/packets/capture';
import type { Loop, LoopCounts } from '@bloomery/packets/loops';
import { formatTable } from '@bloomery/papers/drawing';
import { formatCount, formatSeconds, formatShare } from '../terminal/format-values.ts';

/** A loop as JSON. */
export function loopData(loop: Loop) {
  const { packets, sightings, turns, length, highestTtl, lowestTtl, expired } = loop;
  return {
    destination: prefixText(loop),
    source: formatAddress(loop.version, loop.source, 0),
    packets,
    sightings,
    turns,
    hops: length,
    ttl: [highestTtl, lowestTtl],
    first: timeText(loop.firstS),
    last: timeText(loop.lastS),
    expired,
  };
}

/** The whole answer as JSON. */
export function reportData(loops: readonly Loop[], counts: LoopCounts, headers: HeaderCounts) {
  const { packets, looping, expired, unlisted, rememberedS } = counts;
  return {
    loops: loops.map(loopData),
    packets: headers.packets,
    ipPackets: packets,
    loopingSightings: looping,
    timeExceeded: expired,
    unlisted,
    rememberedSeconds: Number.isFinite(rememberedS) ? rememberedS : null,
  };
}

/** One line about a loop that was just found. */
export function foundText(loop: Loop): string {
  const { version, source, highestTtl, lowestTtl, firstS } = loop;
  const from = formatAddress(version, source, 0);
  return `${timeText(firstS)} loop to ${prefixText(loop)}, from ${from}, TTL ${highestTtl} to ${lowestTtl}`;
}

/** The table of the loops, and notes on what the answer rests on. */
export function reportText(loops: readonly Loop[], counts: LoopCounts, headers: HeaderCounts): string {
  const rows = loops.map((loop) => [
    prefixText(loop),
    loop.length === null ? '?' : String(loop.length),
    formatCount(loop.packets),
    formatCount(loop.sightings),
    `${loop.highestTtl} to ${loop.lowestTtl}`,
    timeText(loop.firstS),
    formatSeconds(loop.lastS - loop.firstS),
    formatCount(loop.expired),
  ]);
  const table = loops.length === 0 ? [] : [formatTable([HEADS, ...rows], { right: [1, 2, 3, 7] }), ''];
  return [...table, summaryOf(loops, counts), ...notesOf(counts, headers)].join('\n');
}

const HEADS = ['destination', 'hops', 'packets', 'sightings', 'TTL', 'first', 'lasted', 'expired'];

function summaryOf(loops: readonly Loop[], { packets, looping }: LoopCounts): string {
  if (loops.length === 0) return `no loop in ${formatCount(packets)} IP packets`;
  const share = formatShare(looping / packets);
  const found = loops.length === 1 ? '1 loop' : `${formatCount(loops.length)} loops`;
  return `${found}: ${formatCount(looping)} of ${formatCount(packets)} IP packets (${share}) had been here before`;
}

function notesOf({ unlisted, rememberedS }: LoopCounts, headers: HeaderCounts): string[] {
  const notes: string[] = [];
  const undecoded = headers.packets - headers.decoded;
  if (undecoded > 0) {
    const { notIp, cut, malformed, linkType } = headers;
    const reasons = [
      [notIp, 'not IP'],
      [cut, 'cut before the end of the IP header'],
      [malformed, 'with a malformed IP header'],
      [linkType, 'of an unknown link type'],
    ] as const;
    const said = reasons
      .filter(([count]) => count > 0)
      .map(([count, what]) => `${formatCount(count)} ${what}`);
    notes.push(`${formatCount(undecoded)} other packets: ${said.join(', ')}`);
  }
  if (unlisted > 0) notes.push(`${formatCount(unlisted)} sightings are of further destinations, not listed`);
  if (Number.isFinite(rememberedS)) {
    notes.push(
      `the memory was full: at times it held ${formatSeconds(rememberedS)} of packets, and a slower loop is missed; --memory holds more`,
    );
  }
  return notes;
}

/** A destination: an address alone, or a prefix with its length. */
function prefixText({ version, destination, prefixBits }: Loop): string {
  const address = formatAddress(version, destination, 0);
  return prefixBits === (version === 4 ? 32 : 128) ? address : `${address}/${prefixBits}`;
}

/** Seconds since 1970 as UTC, with milliseconds. */
function timeText(seconds: number): string {
  return new Date(Math.round(seconds * 1000)).toISOString();
}
