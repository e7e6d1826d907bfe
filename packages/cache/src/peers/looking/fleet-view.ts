/**
 * The whole fleet as all nodes tell it: which node holds whose summary (docs/spec/console.md, "The
 * whole fleet"). Each node answers requests on the topic `view` with its own links, and the node
 * with the console asks all of them and puts the answers together.
 *
 * The views are those of neighbours, which may run another version or be broken. Each is bounded
 * and checked before it is used, and a view that is wrong counts as none.
 *
 * It asks at most every 5 s, and waits at most 2 s. 256 nodes answer with 20 kB each.
 */

import type { Clock, Transport } from '@bloomery/transport';

/** The topic of views. */
const VIEW_TOPIC = 'view';

const ASK_EVERY_MS = 5000;
const ANSWER_MS = 2000;
const MOST_LINKS = 4096;
const MOST_BYTES = 2 * 2 ** 20;
const LONGEST_NAME = 128;
const LONGEST_ADDRESS = 300;

/** State of a link: the neighbour is relied on, masked, or down. */
type LinkState = 0 | 1 | 2;

export interface ViewLink {
  readonly id: string | null;
  readonly address: string;
  readonly state: LinkState;
  readonly objects: number;
  readonly trueHits: number;
  readonly falseHits: number;
}

/** One node, as it tells about itself. */
export interface NodeView {
  readonly group: string | null;
  readonly isLeader: boolean;
  /** Objects in its own summary. */
  readonly objects: number;
  readonly links: readonly ViewLink[];
}

interface FleetNode {
  readonly id: string | null;
  readonly address: string;
  readonly group: string | null;
  readonly isLeader: boolean;
  readonly isSelf: boolean;
  /** `silent`: it is up, and did not tell its view. */
  readonly state: 'up' | 'down' | 'silent';
  readonly objects: number | null;
}

export interface FleetPicture {
  readonly v: 1;
  readonly at: number;
  readonly nodes: readonly FleetNode[];
  /**
   * Holder of a summary and its publisher (indices of nodes), state, objects, true hits, false
   * hits.
   */
  readonly links: readonly (readonly [number, number, LinkState, number, number, number])[];
}

export interface FleetViewsOptions {
  readonly transport: Pick<Transport, 'self' | 'peers' | 'request' | 'serve'>;
  readonly clock: Clock;
  readonly own: () => NodeView;
  /** The address of this node, as others may reach it. */
  readonly address: () => string;
}

export class FleetViews {
  readonly #options: FleetViewsOptions;
  readonly #stopServing: () => void;
  #last: { readonly at: number; readonly picture: Promise<FleetPicture> } | null = null;

  constructor(options: FleetViewsOptions) {
    this.#options = options;
    this.#stopServing = options.transport.serve(VIEW_TOPIC, () => encodeView(options.own()));
  }

  /** The picture of all nodes, which is at most 5 s old. It never rejects. */
  picture(): Promise<FleetPicture> {
    const now = this.#options.clock.monotonic();
    if (this.#last === null || now - this.#last.at >= ASK_EVERY_MS)
      this.#last = { at: now, picture: this.#gather() };
    return this.#last.picture;
  }

  close(): void {
    this.#stopServing();
  }

  async #gather(): Promise<FleetPicture> {
    const { transport, clock, own, address } = this.#options;
    const peers = transport.peers().filter(({ state }) => state !== 'self' && state !== 'gone');
    const views = await Promise.all(
      peers.map((peer) => (peer.state === 'up' ? this.#ask(peer.address) : null)),
    );
    const view = own();
    const nodes: FleetNode[] = [
      {
        id: transport.self.id,
        address: address(),
        group: view.group,
        isLeader: view.isLeader,
        isSelf: true,
        state: 'up',
        objects: view.objects,
      },
    ];
    for (const [i, peer] of peers.entries()) {
      const told = views[i] ?? null;
      nodes.push({
        id: peer.id,
        address: peer.address,
        group: told?.group ?? peer.group ?? null,
        isLeader: told?.isLeader ?? false,
        isSelf: false,
        state: peer.state !== 'up' ? 'down' : told === null ? 'silent' : 'up',
        objects: told?.objects ?? null,
      });
    }
    return { v: 1, at: clock.now(), nodes, links: linksOf(nodes, [view, ...views]) };
  }

  async #ask(address: string): Promise<NodeView | null> {
    try {
      const options = { timeoutMs: ANSWER_MS };
      return decodeView(
        await this.#options.transport.request(address, VIEW_TOPIC, new Uint8Array(0), options),
      );
    } catch {
      return null;
    }
  }
}

/** A node that another one names is found by its id, or by its address before the first contact. */
function linksOf(nodes: readonly FleetNode[], views: readonly (NodeView | null)[]): FleetPicture['links'] {
  const places = new Map<string, number>();
  for (const [i, { id, address }] of nodes.entries()) {
    places.set(address, i);
    if (id !== null) places.set(`id ${id}`, i);
  }
  const links: FleetPicture['links'][number][] = [];
  for (const [holder, view] of views.entries()) {
    const seen = new Set<number>();
    for (const { id, address, state, objects, trueHits, falseHits } of view?.links ?? []) {
      const of = (id === null ? undefined : places.get(`id ${id}`)) ?? places.get(address);
      if (of === undefined || of === holder || seen.has(of)) continue;
      seen.add(of);
      links.push([holder, of, state, objects, trueHits, falseHits]);
    }
  }
  return links;
}

export function encodeView({ group, isLeader, objects, links }: NodeView): Uint8Array {
  const rows = links
    .slice(0, MOST_LINKS)
    .map(({ id, address, state, objects: held, trueHits, falseHits }) => [
      id,
      address,
      state,
      held,
      trueHits,
      falseHits,
    ]);
  return new TextEncoder().encode(JSON.stringify({ v: 1, group, isLeader, objects, links: rows }));
}

/** The view, or null if it is none, or one of a later version. */
export function decodeView(bytes: Uint8Array): NodeView | null {
  if (bytes.length > MOST_BYTES) return null;
  let told: Record<string, unknown> | null;
  try {
    told = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  if (typeof told !== 'object' || told === null || told.v !== 1) return null;
  const { group, isLeader, objects, links } = told;
  if (!isTextOrNull(group, LONGEST_NAME) || typeof isLeader !== 'boolean' || !isCount(objects)) return null;
  if (!Array.isArray(links) || links.length > MOST_LINKS) return null;
  const read: ViewLink[] = [];
  for (const link of links as unknown[]) {
    if (!Array.isArray(link)) return null;
    const [id, address, state, held, trueHits, falseHits] = link as unknown[];
    const isLink =
      isTextOrNull(id, LONGEST_NAME) &&
      typeof address === 'string' &&
      address.length <= LONGEST_ADDRESS &&
      (state === 0 || state === 1 || state === 2) &&
      isCount(held) &&
      isCount(trueHits) &&
      isCount(falseHits);
    if (!isLink) return null;
    read.push({ id, address, state, objects: held, trueHits, falseHits });
  }
  return { group, isLeader, objects, links: read };
}

function isTextOrNull(value: unknown, longest: number): value is string | null {
  return value === null || (typeof value === 'string' && value.length <= longest);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
