/**
 * The search for a neighbour that gives an object, or the rest of one: carries out a plan within a
 * budget of time.
 *
 * ```
 *   plan ─► question ─► question ─► the owner ─► the node that the owner names ─► none
 *              │  ▲        │                          │
 *              │  └────────┴── a refusal names a node to try (twice at most)
 *              └─► found: a proven head that the caller can use
 * ```
 *
 * If another group of nodes owns the key, its owner there takes the place of the owner in this
 * group. It gets the question for the object itself, and fetches it if it lacks it. The next node
 * of that group follows if the first does not answer. A refusal leads to the origin: the object may
 * not be shared, and a second owner would only ask the origin once more.
 *
 * A question that is refused, fails or passes its deadline is followed by the next one. A hedge
 * begins the next question earlier, while the first still runs; the first proven head wins, and the
 * other question is aborted. When the budget is used up, everything is aborted and the search ends
 * with nothing. So a client waits at most the budget longer than without neighbours. The search
 * ends 4 % before the budget, 10 ms of the usual 250 ms: the timer comes late on a busy machine,
 * and the request to the origin has to be made. Without that reserve the slowest answer of 1,000
 * came 4 ms after the bound, in one of two runs of
 * `npm run bench:cooperation -- --only first-byte`.
 *
 * A neighbour that waits for the origin itself says so (head-wait.ts). Then this search waits with
 * it, without the budget, up to the time that the origin has for its head: this node would have to
 * wait for the origin as well. It does not do so for the rest of a body. If that neighbour is lost,
 * the owner is asked again, and the search gets its budget a second time. Of the nodes that lost
 * the neighbour, the owner lets one fetch and names it to the others, which then wait with it. So a
 * node that dies before its head came costs one further fetch. Both waits together may take no
 * longer than one. After a second loss the search goes to the origin.
 *
 * No neighbour is asked twice in a search, and a search puts at most six questions to neighbours:
 * two of the plan, two to nodes that refusals name (hops, counted together), and two to nodes that
 * the owner names. The owner is asked a second time if the neighbour that was waited for is lost.
 *
 * The questions themselves come from a port (`newAsk`). In a node they are `NeighbourAsk`, which
 * speak HTTP. A simulation gives others, and runs this file as it is.
 */

import type { Cancel, Clock } from '@bloomery/transport';
import type { ResponseHead } from '../policy/message-head.ts';
import type { AskListener } from './neighbour-ask.ts';
import type { Neighbour, NeighbourPlan, NeighbourPort, PlannedQuestion } from './neighbour-port.ts';
import type { AskKind, BodyRest, ObjectAsk } from './objects/object-request.ts';

/** How often a search follows a refusal that names another node. */
const MOST_HOPS = 2;

/** The part of the budget after which a search ends. */
const SEARCH_SHARE = 0.96;

/** A question to one neighbour. */
export interface SearchAsk {
  start(): void;
  /** Ends the question without a further call of the listener. */
  abort(end?: 'late'): void;
}

export interface SearchOptions<Ask extends SearchAsk> {
  readonly clock: Clock;
  /** The longest wait for a neighbour that waits for the origin. */
  readonly headTimeoutMs: number;
  readonly port: Pick<NeighbourPort, 'askOwner' | 'find' | 'report'>;
  /** Makes a question, which the search starts. `isMiss`: the neighbour's summary says "no". */
  readonly newAsk: (
    neighbour: Neighbour,
    ask: ObjectAsk & { readonly isMiss: boolean },
    listener: AskListener,
  ) => Ask;
  /** The cache key of the object. */
  readonly key: string;
  readonly plan: NeighbourPlan | Promise<NeighbourPlan>;
  /** The rest of a body to continue, or null for the whole. */
  readonly rest: BodyRest | null;
  readonly budgetMs: number;
  /** The neighbour whose body just broke off, for the owner; null if there is none. */
  readonly lost: Neighbour | null;
  /** Addresses of neighbours that are not asked. */
  readonly avoid: Iterable<string>;
  /** Whether the caller can use an answer with this head. */
  readonly accept: (head: ResponseHead) => boolean;
  /** Whether owners in other groups of nodes are left out. */
  readonly isWithinGroup?: boolean | undefined;
  /** A question was sent. */
  readonly sent: () => void;
  /** A neighbour waits for the origin, and this search waits for it. */
  readonly waits: () => void;
  /** Called once, unless `none` or `abort` is. The caller becomes the listener of the question. */
  readonly found: (found: Found<Ask>) => void;
  /** No neighbour gives it. */
  readonly none: () => void;
}

export interface Found<Ask extends SearchAsk> {
  readonly ask: Ask;
  readonly head: ResponseHead;
}

/** A question to put, and what its receiver may do. */
interface Step extends PlannedQuestion {
  readonly kind: AskKind;
}

export class NeighbourSearch<Ask extends SearchAsk> {
  readonly #options: SearchOptions<Ask>;
  #end: number;
  readonly #asked: Set<string>;
  /** The questions under way, each with a function that ends its timers. */
  readonly #active = new Map<Ask, Cancel>();
  #steps: Step[] = [];
  /** The neighbours whose summary says "maybe", or null if that is unknown. */
  #candidates: ReadonlySet<string> | null = null;
  #mayAskOwner = false;
  #hops = 0;
  /** The question that waits for the origin. */
  #waiting: Ask | null = null;
  /** The time at which all waiting ends, from the first wait on. */
  #waitsUntil: number | null = null;
  #hasLost = false;
  #over = false;
  #cancelBudget: Cancel = nothing;

  constructor(options: SearchOptions<Ask>) {
    this.#options = options;
    this.#end = options.clock.monotonic() + SEARCH_SHARE * options.budgetMs;
    this.#asked = new Set(options.avoid);
  }

  start(): void {
    const { plan, budgetMs } = this.#options;
    this.#endAfter(SEARCH_SHARE * budgetMs);
    if (plan instanceof Promise) {
      plan.then(
        (made) => this.#follow(made),
        () => this.#none(),
      );
    } else this.#follow(plan);
  }

  /** Ends the search without a further call. */
  abort(end?: 'late'): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelBudget();
    for (const [ask, cancel] of this.#active) {
      cancel();
      ask.abort(end);
    }
    this.#active.clear();
  }

  #endAfter(ms: number): void {
    const { clock } = this.#options;
    this.#cancelBudget();
    this.#end = clock.monotonic() + ms;
    this.#cancelBudget = clock.after(ms, () => this.#none('late'));
  }

  #follow({ asks, candidates, afterwards, beyond = [], holder }: NeighbourPlan): void {
    if (this.#over) return;
    const { isWithinGroup = false, rest } = this.#options;
    const owners = isWithinGroup || rest !== null ? [] : beyond;
    this.#candidates = candidates === undefined ? null : new Set(candidates);
    // A candidate that is still receiving the object may be waiting for this node, through others.
    // Only the owner of the key knows, and names a node that is not waiting for this one.
    this.#steps = [
      ...asks.map((ask) => ({ ...ask, kind: 'stored' as const })),
      ...(holder === undefined || isWithinGroup || rest !== null
        ? []
        : [{ ...holder, kind: 'stored' as const }]),
      ...owners.map((ask) => ({ ...ask, kind: 'owned' as const })),
    ];
    this.#mayAskOwner = afterwards === 'owner' && owners.length === 0;
    this.#advance();
  }

  /** Goes on if no question is under way. */
  #advance(): void {
    if (this.#over || this.#active.size > 0 || this.#next()) return;
    if (this.#mayAskOwner) {
      this.#mayAskOwner = false;
      this.#askOwner(this.#options.lost);
    } else this.#none();
  }

  /** Puts the next question. Returns false if there is none. */
  #next(): boolean {
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      if (this.#asked.has(step.neighbour.address)) continue;
      this.#ask(step);
      return true;
    }
    return false;
  }

  #askOwner(lost: Neighbour | null): void {
    const { port, key } = this.#options;
    port.askOwner(key, lost?.id ?? null).then(
      (answer) => {
        if (answer !== null && answer !== 'fetch') this.#tryLater(answer);
        this.#advance();
      },
      () => this.#advance(),
    );
  }

  /** A neighbour that may be receiving the object: it has all the time that is left. */
  #tryLater(neighbour: Neighbour): void {
    this.#steps.unshift({ neighbour, kind: 'coming', headDeadlineMs: this.#leftMs(), hedgeAfterMs: null });
  }

  #leftMs(): number {
    return Math.max(0, this.#end - this.#options.clock.monotonic());
  }

  #ask(step: Step): void {
    const { clock, newAsk, rest, port } = this.#options;
    const { neighbour, kind } = step;
    const headDeadlineMs = Math.min(step.headDeadlineMs, this.#leftMs());
    this.#asked.add(neighbour.address);
    const waitMs = kind === 'stored' ? 0 : headDeadlineMs;
    const ask = newAsk(
      neighbour,
      { kind, waitMs, rest, isMiss: rest === null && this.#candidates?.has(neighbour.address) === false },
      {
        waits: () => this.#wait(ask),
        answered: () => stopTimers(),
        head: (head) => this.#head(ask, head),
        data: nothing,
        end: nothing,
        failed: (end, tryNode) => {
          this.#forget(ask);
          if (ask === this.#waiting && end === 'failed' && !this.#hasLost) {
            this.#waiting = null;
            this.#hasLost = true;
            this.#endAfter(SEARCH_SHARE * this.#options.budgetMs);
            // The next owner of the other group is asked, if there is one.
            if (kind === 'owned') this.#advance();
            else this.#askOwner(neighbour);
            return;
          }
          if (kind === 'owned' && end !== 'failed') this.#steps = [];
          const next = tryNode === null || this.#hops >= MOST_HOPS ? null : port.find(tryNode);
          if (next !== null) {
            this.#hops++;
            this.#tryLater(next);
          }
          this.#advance();
        },
      },
    );
    const cancelDeadline = clock.after(headDeadlineMs, () => {
      this.#forget(ask);
      ask.abort('late');
      this.#advance();
    });
    const cancelHedge =
      step.hedgeAfterMs === null
        ? nothing
        : clock.after(step.hedgeAfterMs, () => {
            if (this.#next()) port.report({ kind: 'hedged', neighbour });
          });
    const stopTimers = (): void => {
      cancelDeadline();
      cancelHedge();
    };
    this.#active.set(ask, stopTimers);
    ask.start();
    this.#options.sent();
  }

  /** Waits with a neighbour that waits for the origin. Returns false if it does not. */
  #wait(ask: Ask): boolean {
    const { clock, rest, headTimeoutMs, waits } = this.#options;
    if (rest !== null || this.#waiting !== null) return false;
    this.#waiting = ask;
    this.#waitsUntil ??= clock.monotonic() + headTimeoutMs;
    this.#active.get(ask)?.();
    this.#endAfter(Math.max(0, this.#waitsUntil - clock.monotonic()));
    waits();
    return true;
  }

  #forget(ask: Ask): void {
    this.#active.get(ask)?.();
    this.#active.delete(ask);
  }

  #head(ask: Ask, head: ResponseHead): boolean {
    const { accept, found } = this.#options;
    if (!accept(head)) return false;
    this.#forget(ask);
    this.abort();
    found({ ask, head });
    return true;
  }

  #none(end?: 'late'): void {
    if (this.#over) return;
    this.abort(end);
    this.#options.none();
  }
}

function nothing(): void {}
