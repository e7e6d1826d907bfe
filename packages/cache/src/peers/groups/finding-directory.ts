/**
 * The directory of a node with a finder: before a miss goes to the owner of its key, it asks the
 * finder which node holds the object, and puts a question to that node first. Everything else is
 * the hub's.
 *
 * The finder is asked only where no summary of this node's group lists the object, and for at most
 * a fifth of the budget of a miss. The node that it names is asked for a stored response alone, so
 * a wrong answer costs one short round trip, and the owner is asked as without a finder.
 */

import type { HashHalves } from '../decisions/owner-question.ts';
import { ownerDeadlineMs } from '../decisions/peer-choice.ts';
import type {
  GiveUp,
  KeyedHash,
  Neighbour,
  NeighbourDirectory,
  NeighbourPlan,
  NeighbourReport,
  OwnerWord,
} from '../neighbour-port.ts';
import type { FinderReport } from '../peer-report.ts';
import type { ObjectFinder } from './object-finder.ts';

export interface FindingDirectoryOptions {
  /** The directory of the summaries and owners: a `PeerHub`. */
  readonly hub: NeighbourDirectory;
  readonly finder: Pick<ObjectFinder, 'find'>;
  /** The hash by which all nodes of the fleet know the key. */
  readonly commonHash: (hashes: readonly KeyedHash[]) => KeyedHash;
  readonly budgetMs: number;
}

/** Share of the budget of a miss in which the finder must have answered. */
const FIND_SHARE = 0.2;

export class FindingDirectory implements NeighbourDirectory {
  readonly #options: FindingDirectoryOptions;
  #questions = 0;
  #named = 0;

  constructor(options: FindingDirectoryOptions) {
    this.#options = options;
  }

  get finds(): FinderReport {
    return { questions: this.#questions, named: this.#named };
  }

  async plan(hashes: readonly KeyedHash[], again = false): Promise<NeighbourPlan> {
    const { hub, finder, commonHash, budgetMs } = this.#options;
    const plan = await hub.plan(hashes, again);
    if (again || plan.asks.length > 0) return plan;
    this.#questions++;
    const id = await finder.find(commonHash(hashes), FIND_SHARE * budgetMs);
    const found = id === null ? null : hub.find(id);
    if (found === null) return plan;
    this.#named++;
    const neighbour = { id: found.id, address: found.address, keyId: found.keyId };
    const holder = { neighbour, headDeadlineMs: ownerDeadlineMs(budgetMs), hedgeAfterMs: null };
    const why = `${plan.why ?? 'no candidate'}; holder ${found.address}`;
    return { ...plan, holder, why };
  }

  askOwner(hashes: readonly KeyedHash[], lost: string | null): Promise<OwnerWord | null> {
    return this.#options.hub.askOwner(hashes, lost);
  }

  done(owner: string, hash: HashHalves): void {
    this.#options.hub.done(owner, hash);
  }

  gaveUp(owner: string, hash: HashHalves, why: GiveUp): void {
    this.#options.hub.gaveUp(owner, hash, why);
  }

  find(node: string): Neighbour | null {
    return this.#options.hub.find(node);
  }

  report(report: NeighbourReport): void {
    this.#options.hub.report(report);
  }
}
