/**
 * The picture of the bins: two levels, a flow that floods, one that shares a bin of it, and one
 * that shares none. Places and probabilities are those of a real `SfbQueue`.
 */

import { SecretKey } from 'bloomery';
import { FlowPlaces } from '../../packages/packets/dist/queues/flow-places.js';
import { SfbQueue } from '../../packages/packets/dist/queues/index.js';

const [LEVELS, BINS] = [2, 23];
const CELL = 27;
const [LEFT, TOP] = [90, 96];
const ROW = 74;

interface Packet {
  readonly flow: string;
  readonly byteLength: number;
  readonly isEcnCapable: boolean;
  mark(): void;
}

const packetOf = (flow: string): Packet => ({ flow, byteLength: 1000, isEcnCapable: false, mark: () => {} });

export function binsPicture(): string {
  const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 3 * i));
  const placesOf = (flow: string) => binsOf(key, flow);
  const flood = placesOf('flood');
  const names = Array.from({ length: 4000 }, (_, i) => `flow ${i}`);
  const shares = (name: string) => placesOf(name).filter((place, level) => place === flood[level]).length;
  const half = names.find((name) => shares(name) === 1)!;
  const free = names.find((name) => shares(name) === 0)!;
  const wronged = names.find((name) => shares(name) === 2);
  const queue = newQueue(key);
  for (let i = 0; i < 40; i++) queue.enqueue(packetOf('flood'), 0);
  const shown: [name: string, text: string, kind: string][] = [
    ['flood', 'a flood: both bins at 1, punished', 'flood'],
    [half, `shares one bin: its lowest is ${queue.probabilityOf(half)}, left alone`, 'half'],
    [free, `shares none: ${queue.probabilityOf(free)}, left alone`, 'free'],
  ];
  if (wronged !== undefined)
    shown.push([wronged, 'shares both by bad luck: punished until the hash moves', 'wronged']);
  return draw(shown.map(([name, text, kind]) => ({ text, kind, places: placesOf(name) })));
}

function newQueue(key: SecretKey): SfbQueue<Packet> {
  return SfbQueue.linux<Packet>({
    levels: LEVELS,
    bins: BINS,
    target: 1,
    max: 1000,
    increment: 1,
    limitPackets: 100,
    random: () => 0.5,
    nextKey: () => key,
  });
}

/** The bin of a flow in each level. */
function binsOf(key: SecretKey, flow: string): number[] {
  const places = new FlowPlaces({ kind: 'levels', levels: LEVELS, bins: BINS }, key).of(flow);
  return Array.from(places, (place, level) => place - level * BINS);
}

interface Shown {
  readonly text: string;
  readonly kind: string;
  readonly places: readonly number[];
}

function draw(flows: readonly Shown[]): string {
  const parts: string[] = [];
  const [flood] = flows;
  for (let level = 0; level < LEVELS; level++) {
    const y = TOP + level * ROW;
    parts.push(`<text class="note" x="20" y="${y + 20}">level ${level + 1}</text>`);
    for (let bin = 0; bin < BINS; bin++) {
      const isHot = flood!.places[level] === bin;
      parts.push(
        `<rect class="${isHot ? 'hot' : 'cold'}" x="${LEFT + bin * CELL}" y="${y}" width="${CELL - 3}" height="30" rx="3"/>`,
      );
    }
    for (const [i, { kind, places }] of flows.entries()) {
      const x = LEFT + places[level]! * CELL + CELL / 2 - 1.5;
      parts.push(`<circle class="${kind}" cx="${x + (i - 1.5) * 3}" cy="${y + 42 + (i % 2) * 9}" r="4.5"/>`);
    }
  }
  const legend = flows.map(
    ({ text, kind }, i) =>
      `<circle class="${kind}" cx="${LEFT + 6}" cy="${TOP + LEVELS * ROW + 18 + i * 24}" r="5"/><text class="note" x="${LEFT + 20}" y="${TOP + LEVELS * ROW + 23 + i * 24}">${text}</text>`,
  );
  const width = LEFT + BINS * CELL + 20;
  const height = TOP + LEVELS * ROW + 30 + flows.length * 24;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Two levels of 23 bins. A flood has driven its bin of each level to probability 1. A flow that shares one of them is left alone, a flow that shares both is punished.">
<style>
svg { font: 14px system-ui, sans-serif; background: #fff; }
text { fill: #1c1e21; } .note { fill: #57606a; font-size: 13px; } .title { font-weight: 600; }
.cold { fill: #e4e8ee; } .hot { fill: #c3352b; }
.flood { fill: #c3352b; } .half { fill: #0969da; } .free { fill: #1a7f37; } .wronged { fill: #8250df; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; }
  text { fill: #e6edf3; } .note { fill: #9da7b3; }
  .cold { fill: #21262d; } .hot { fill: #ff7b72; }
  .flood { fill: #ff7b72; } .half { fill: #58a6ff; } .free { fill: #56d364; } .wronged { fill: #bc8cff; }
}
</style>
<text class="title" x="20" y="28">Stochastic fair Blue: a bin of each level for every flow</text>
<rect class="hot" x="${LEFT}" y="48" width="16" height="16" rx="3"/><text class="note" x="${LEFT + 24}" y="61">probability 1: the bin is never empty</text>
<rect class="cold" x="${LEFT + 340}" y="48" width="16" height="16" rx="3"/><text class="note" x="${LEFT + 364}" y="61">probability 0</text>
${parts.join('\n')}
${legend.join('\n')}
</svg>
`;
}
