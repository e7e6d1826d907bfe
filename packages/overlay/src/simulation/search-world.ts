/**
 * A group of peers that share folders, in a simulated network: the directory, the folders and the
 * searches of production, each peer following all others. Documents are spread as PlanetP spread
 * them, by a Weibull distribution, so that a few peers have many.
 */

import { randomStream, SimNetwork, type SimTransport, Simulation } from '@bloomery/sim';
import { hashScheme, SecretKey } from 'bloomery';
import { SharedSets } from 'bloomery/wire';
import { PeerDirectory } from '../directory/peer-directory.ts';
import { Searcher, type SearchGroup, type SearchOptions, type SearchResult } from '../search/searcher.ts';
import { type FolderDocument, SharedFolder } from '../search/shared-folder.ts';

export interface SearchWorldOptions {
  readonly seed: number;
  readonly peers: number;
  readonly documents: readonly FolderDocument[];
  /** Time that a message takes. Default 5 ms. */
  readonly delayMs?: number | undefined;
}

export interface SearchPeer {
  readonly id: string;
  readonly transport: SimTransport;
  readonly folder: SharedFolder;
  readonly directory: PeerDirectory;
  readonly searcher: Searcher;
  readonly texts: Map<string, string>;
}

/** The parameters of the spread: many peers with little, a few with much. */
const WEIBULL_SHAPE = 0.7;
const MINUTE_MS = 60_000;
const DELAY_MS = 5;

export class SearchWorld {
  readonly simulation: Simulation;
  readonly network: SimNetwork;
  readonly peers: readonly SearchPeer[];
  readonly #scheme = hashScheme({ key: new SecretKey(new Uint8Array(16).fill(7)) });
  readonly #shared = new SharedSets();

  constructor({ seed, peers, documents, delayMs = DELAY_MS }: SearchWorldOptions) {
    this.simulation = new Simulation({ seed });
    this.network = new SimNetwork(this.simulation);
    this.network.setConditions({ delayMs });
    const ids = Array.from({ length: peers }, (_, i) => `peer-${String(i).padStart(3, '0')}`);
    this.peers = ids.map((id) => this.#join(id, ids));
    const owners = spread(documents.length, peers, seed);
    for (const [i, document] of documents.entries()) this.put(owners[i], document);
  }

  /** Saves a document in the folder of a peer. */
  put(owner: number, document: FolderDocument): void {
    const { folder, texts } = this.peers[owner];
    texts.set(document.path, document.text);
    folder.put(document);
  }

  /** Runs until every peer has the latest summary of all others. Returns the virtual time. */
  async settle(mostMs = 10 * MINUTE_MS): Promise<number> {
    const start = this.simulation.elapsedMs;
    // Changes of this moment are published within the first second.
    do {
      if (this.simulation.elapsedMs - start >= mostMs)
        throw new Error(`Cannot settle: expected all summaries to be current, got some that are not`);
      await this.simulation.run({ untilMs: this.simulation.elapsedMs + 1000 });
    } while (!this.isCurrent());
    return this.simulation.elapsedMs - start;
  }

  /** Whether every directory holds the latest state of every peer. */
  isCurrent(): boolean {
    const cards = new Map(
      this.peers.map(({ transport, folder }) => [transport.address, folder.summary.card]),
    );
    return this.peers.every(({ directory }) => {
      const known = directory.peers();
      return (
        known.length === this.peers.length - 1 &&
        known.every(({ address, card, isCurrent }) => {
          const now = cards.get(address)!;
          return isCurrent && card!.sequence === now.sequence && card!.documents === now.documents;
        })
      );
    });
  }

  /** One search by a peer, and the virtual time that it took. */
  async search(
    peer: number,
    query: string,
    options: SearchOptions = {},
  ): Promise<SearchResult & { readonly elapsedMs: number }> {
    const start = this.simulation.elapsedMs;
    let outcome: { result: SearchResult; atMs: number } | { error: unknown } | undefined;
    this.peers[peer].searcher.search(query, options).then(
      (result) => void (outcome = { result, atMs: this.simulation.elapsedMs }),
      (error) => void (outcome = { error }),
    );
    while (outcome === undefined) await this.simulation.run({ untilMs: this.simulation.elapsedMs + 100 });
    if ('error' in outcome) throw outcome.error;
    return { ...outcome.result, elapsedMs: outcome.atMs - start };
  }

  #join(id: string, ids: readonly string[]): SearchPeer {
    const peers = ids.filter((other) => other !== id).map((other) => `sim:${other}`);
    const transport = this.network.join({ id, peers });
    const { clock } = transport;
    const texts = new Map<string, string>();
    const scheme = this.#scheme;
    const folder = new SharedFolder({
      transport,
      clock,
      scheme,
      label: id,
      readText: async (path) => texts.get(path) ?? null,
      // Heartbeats of an idle group are measured elsewhere.
      summary: { heartbeatMs: MINUTE_MS },
    });
    const directory = new PeerDirectory({ transport, clock, shared: this.#shared });
    const group: SearchGroup = { name: 'team', transport, directory, scheme, folder };
    return { id, transport, folder, directory, texts, searcher: new Searcher(id, () => [group]) };
  }
}

/** The owner of each document, drawn by the shares of the peers. */
function spread(documents: number, peers: number, seed: number): number[] {
  const random = randomStream(seed, 'spread');
  const shares = Array.from({ length: peers }, () => (-Math.log(1 - random())) ** (1 / WEIBULL_SHAPE));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return Array.from({ length: documents }, () => {
    let at = random() * total;
    const owner = shares.findIndex((share) => (at -= share) < 0);
    return owner < 0 ? peers - 1 : owner;
  });
}
