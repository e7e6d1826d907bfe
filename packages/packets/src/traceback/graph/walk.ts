/**
 * The walk of a trace: asks the collector at the victim whether it saw the packet, then the
 * neighbours of each collector that did, until no further one did (SPIE's reverse path flooding).
 *
 * The answers are not all true, and the walk allows for four kinds of untruth:
 *
 * - **False positives.** A collector says yes by chance, with a probability that its answer tells.
 *   The walk follows it, and `path-odds.ts` says how likely each edge is.
 * - **Silence.** A collector that does not answer, or answers nonsense, is crossed: its other
 *   neighbours are asked, up to `mostSilent` silent collectors in a row.
 * - **Yes to everything.** Collectors are asked about decoys as well: packets between the same
 *   hosts that were never sent. If one says yes to the packet and to more decoys than its own rate
 *   allows (below once in a thousand), its yes is worth nothing, and it is crossed like a silent
 *   one.
 * - **No to everything.** Where the trace ends, the collectors behind those that said no are asked.
 *   A yes behind a no is a contradiction: the collector between them did not tell the truth, or the
 *   yes is a false positive. Both get their probability.
 *
 * A decoy looks like the packet (decoys.ts), and with `random` the questions come in random order,
 * so a liar cannot tell which question is the trap. A collector may know the packet and lie about
 * that packet alone. Only contradicting answers of its neighbours expose it.
 */

import type { TimeSpan } from '../tables/digest-table.ts';
import type { ChangeKind, PacketForm } from '../transforms/packet-forms.ts';
import type { Topology } from './topology.ts';

/** An answer about one packet, or the reason why there is none. */
export type CollectorAnswer =
  | {
      readonly seen: boolean;
      /** Probability of a yes for a packet that was not there. */
      readonly chance: number;
      readonly sightings: readonly TimeSpan[];
      /** The packet before this router changed it. */
      readonly changes: readonly PacketForm[];
      /** The reason of a no, if there is one besides the tables. */
      readonly reason?: string;
    }
  | { readonly silent: string };

/** Asks one collector about one packet. It never rejects: a failure is a silence with a reason. */
export type AskCollector = (id: string, packet: Uint8Array) => Promise<CollectorAnswer>;

export interface WalkOptions {
  readonly topology: Topology;
  readonly start: string;
  /** The packet, and other packets that can be read from it (`formsOf`). */
  readonly forms: readonly Uint8Array[];
  readonly ask: AskCollector;
  /** Packets that were never sent, to test collectors that say yes. Default none. */
  readonly decoys?: readonly Uint8Array[];
  /** Numbers in [0, 1) that mix questions and decoys. Without them, decoys follow a yes. */
  readonly random?: () => number;
  /** Silent collectors in a row that are crossed. Default 2. */
  readonly mostSilent?: number;
  /** Asks behind collectors that said no, where a trace ends. Default true. */
  readonly looksBehind?: boolean;
  /** Questions that run at the same time. Default 16. */
  readonly atOnce?: number;
}

/** A collector's verdict on the packet. `unreliable` said yes to packets that were never sent. */
export type Verdict = 'seen' | 'not seen' | 'silent' | 'unreliable';

export interface WalkedNode {
  readonly id: string;
  readonly verdict: Verdict;
  /** Probability of this yes, had the packet not been there; 1 if the verdict says nothing. */
  readonly chance: number;
  readonly sightings: readonly TimeSpan[];
  readonly changes: readonly ChangeKind[];
  /** The reason of a silence or of a no. */
  readonly reason?: string;
}

export interface Walk {
  readonly start: string;
  /** All collectors that were asked, in the order of asking. */
  readonly nodes: ReadonlyMap<string, WalkedNode>;
  readonly questions: number;
}

/** A decoy test fails if its outcome is rarer than this for an honest collector. */
const LEAST_ODDS = 1e-3;
/** Forms of a packet that are followed at most, so that answers cannot make the walk endless. */
const MOST_FORMS = 12;

/** An answer other than silence. */
type Heard = Exclude<CollectorAnswer, { readonly silent: string }>;

interface Answers {
  /** About the forms of the packet. */
  readonly answers: readonly Heard[];
  readonly toDecoys: readonly Heard[];
  /** The reason of the last silence. */
  readonly reason: string;
}

interface Pending {
  readonly id: string;
  readonly forms: readonly Uint8Array[];
  /** Silent collectors crossed just before. */
  readonly silent: number;
}

/** Walks back from the victim. */
export async function walkBack(options: WalkOptions): Promise<Walk> {
  const { topology, start, atOnce = 16, looksBehind = true } = options;
  const walker = new Walker(options);
  let level: Pending[] = [{ id: start, forms: options.forms, silent: 0 }];
  while (level.length > 0) {
    const next: Pending[] = [];
    for (let i = 0; i < level.length; i += atOnce) {
      const reached = await Promise.all(level.slice(i, i + atOnce).map((node) => walker.visit(node)));
      next.push(...reached.flat());
    }
    level = walker.unasked(next);
    if (level.length === 0 && looksBehind) level = walker.behindNo(topology);
  }
  return { start, nodes: walker.nodes, questions: walker.questions };
}

class Walker {
  readonly nodes = new Map<string, WalkedNode>();
  questions = 0;
  readonly #options: WalkOptions;
  /** Forms that each collector was asked about. */
  readonly #asked = new Map<string, readonly Uint8Array[]>();
  /** Forms that each collector was asked about or told. */
  readonly #forms = new Map<string, readonly Uint8Array[]>();
  readonly #lookedBehind = new Set<string>();

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Asks a collector. Returns the collectors to ask because of its answer. */
  async visit({ id, forms, silent }: Pending): Promise<Pending[]> {
    const { topology, mostSilent = 2 } = this.#options;
    const { node, further } = await this.#ask(id, forms);
    this.nodes.set(id, node);
    const asked = join(this.#asked.get(id) ?? [], forms);
    this.#asked.set(id, asked);
    const known = join(asked, further);
    this.#forms.set(id, known);
    const isKnown = node.verdict === 'seen';
    if (node.verdict === 'not seen' || (!isKnown && silent >= mostSilent)) return [];
    const neighbours = topology.neighbours.get(id) ?? [];
    return neighbours.map((next) => ({ id: next, forms: known, silent: isKnown ? 0 : silent + 1 }));
  }

  /**
   * Drops questions that were asked before, and joins the forms of collectors that occur twice. A
   * collector that said no is asked about further forms: a neighbour beside a translator may be
   * reached before the translator tells of the earlier form.
   */
  unasked(pending: readonly Pending[]): Pending[] {
    const joined = new Map<string, Pending>();
    for (const { id, forms: all, silent } of pending) {
      const verdict = this.nodes.get(id)?.verdict ?? 'not seen';
      const forms = this.#newForms(id, all);
      if (verdict !== 'not seen' || forms.length === 0) continue;
      const before = joined.get(id);
      joined.set(
        id,
        before === undefined
          ? { id, forms, silent }
          : { id, forms: join(before.forms, forms), silent: Math.min(before.silent, silent) },
      );
    }
    return [...joined.values()];
  }

  /** Forms that a collector was not asked about, as many as it may still be asked. */
  #newForms(id: string, forms: readonly Uint8Array[]): readonly Uint8Array[] {
    const asked = this.#asked.get(id) ?? [];
    return join(asked, forms).slice(asked.length);
  }

  /**
   * Collectors behind those that said no, at each end of the trace. An end is a collector that saw
   * the packet while none beyond it did.
   */
  behindNo(topology: Topology): Pending[] {
    const found: Pending[] = [];
    for (const id of this.#ends(topology)) {
      if (this.#lookedBehind.has(id)) continue;
      this.#lookedBehind.add(id);
      const forms = this.#forms.get(id) ?? [];
      for (const between of topology.neighbours.get(id) ?? []) {
        if (this.nodes.get(between)?.verdict !== 'not seen') continue;
        for (const beyond of topology.neighbours.get(between) ?? []) {
          found.push({ id: beyond, forms, silent: this.#options.mostSilent ?? 2 });
        }
      }
    }
    return this.unasked(found);
  }

  /**
   * Ends of the trace: collectors that saw the packet and have at most one neighbour that saw it.
   * The victim's own collector is an end only if no neighbour saw the packet.
   */
  #ends(topology: Topology): string[] {
    const { start } = this.#options;
    const isSeen = (id: string) => this.nodes.get(id)?.verdict === 'seen';
    return [...this.nodes.keys()].filter((id) => {
      if (!isSeen(id)) return false;
      const others = (topology.neighbours.get(id) ?? []).filter(isSeen).length;
      return others < (id === start ? 1 : 2);
    });
  }

  async #ask(
    id: string,
    forms: readonly Uint8Array[],
  ): Promise<{ node: WalkedNode; further: readonly Uint8Array[] }> {
    // A collector that is asked again said no to the forms before.
    let none = 1 - (this.nodes.get(id)?.chance ?? 0);
    let isSeen = false;
    const sightings: TimeSpan[] = [];
    const changes = new Set<ChangeKind>();
    let further: readonly Uint8Array[] = [];
    const { answers, toDecoys, reason } = await this.#answersOf(id, forms);
    for (const answer of answers) {
      none *= 1 - answer.chance;
      if (!answer.seen) continue;
      isSeen = true;
      sightings.push(...answer.sightings);
      for (const { kind, packet } of answer.changes) {
        changes.add(kind);
        further = join(further, [packet]);
      }
    }
    const plain = { id, sightings, changes: [...changes] };
    // A no holds only for the forms that were answered. The packet may have passed in another form.
    if (!isSeen && answers.length < forms.length)
      return { node: { ...plain, verdict: 'silent', chance: 1, reason }, further };
    const chance = 1 - none;
    if (!isSeen) {
      const why = answers.find((answer) => answer.reason !== undefined)?.reason;
      return {
        node: { ...plain, verdict: 'not seen', chance, ...(why !== undefined && { reason: why }) },
        further,
      };
    }
    if (failsDecoys(toDecoys)) {
      const why = 'says yes to packets that were never sent';
      return { node: { ...plain, verdict: 'unreliable', chance: 1, reason: why }, further: [] };
    }
    return { node: { ...plain, verdict: 'seen', chance }, further };
  }

  /** Asks about all forms and decoys, until the collector falls silent for the second time. */
  async #answersOf(id: string, forms: readonly Uint8Array[]): Promise<Answers> {
    const { ask, decoys = [], random } = this.#options;
    const questions = [
      ...forms.map((packet) => ({ packet, isDecoy: false })),
      ...decoys.map((packet) => ({ packet, isDecoy: true })),
    ];
    if (random !== undefined) shuffle(questions, random);
    const answers: Heard[] = [];
    const toDecoys: Heard[] = [];
    let silences = 0;
    let reason = '';
    for (const { packet, isDecoy } of questions) {
      // Decoys that come last are left out after a no, which they could not change.
      if (isDecoy && random === undefined && !answers.some(({ seen }) => seen)) break;
      this.questions++;
      const answer = await ask(id, packet);
      if ('silent' in answer) {
        reason = answer.silent;
        if (++silences === 2) break;
      } else (isDecoy ? toDecoys : answers).push(answer);
    }
    return { answers, toDecoys, reason };
  }
}

/** Whether a collector says yes to more decoys than its rate explains. */
function failsDecoys(answers: readonly Heard[]): boolean {
  const yes = answers.filter(({ seen }) => seen).length;
  const chance = answers.reduce((most, answer) => Math.max(most, Math.min(1, answer.chance)), 0);
  return yes > 0 && atLeast(yes, answers.length, chance) < LEAST_ODDS;
}

function shuffle<T>(items: T[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i--) {
    const from = Math.floor(random() * (i + 1));
    [items[i], items[from]] = [items[from] as T, items[i] as T];
  }
}

/** Probability of at least `yes` successes in `trials` of probability p. */
function atLeast(yes: number, trials: number, p: number): number {
  let sum = 0;
  for (let k = yes, ways = choose(trials, yes); k <= trials; k++) {
    sum += ways * p ** k * (1 - p) ** (trials - k);
    ways = (ways * (trials - k)) / (k + 1);
  }
  return sum;
}

function choose(n: number, k: number): number {
  let ways = 1;
  for (let i = 0; i < k; i++) ways = (ways * (n - i)) / (i + 1);
  return ways;
}

/** Both lists without repetitions, the first `MOST_FORMS` of them. */
function join(a: readonly Uint8Array[], b: readonly Uint8Array[]): readonly Uint8Array[] {
  const joined = [...a];
  for (const form of b) {
    const isNew = !joined.some(
      (other) => other.length === form.length && other.every((x, i) => x === form[i]),
    );
    if (isNew && joined.length < MOST_FORMS) joined.push(form);
  }
  return joined;
}
