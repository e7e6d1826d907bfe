/**
 * The addresses of one host, by its A and AAAA records. An answer of one kind stays until the next
 * one of that kind: a server that answers for A and fails for AAAA takes no address away.
 *
 * A look-up has failed if neither kind brought an address. An empty answer counts as a failure,
 * because a name without addresses is more often a mistake in a zone than a fleet without nodes.
 * Keeping nodes that are gone costs one attempt to connect every ten seconds; losing those that
 * are there costs all summaries of the fleet.
 */

import { type AddressRecord, isNoRecords, type NameResolver } from './name-resolver.ts';

export interface HostAnswer {
  /** IPv4 before IPv6, each in the order of the text. */
  readonly addresses: readonly string[];
  /** The shortest TTL of the records that came, in seconds; infinite if none came. */
  readonly ttl: number;
  /** The reason why no address came now, in words for an operator, or null. */
  readonly problem: string | null;
}

export class HostLookup {
  readonly #host: string;
  readonly #resolver: NameResolver;
  readonly #most: number;
  #v4: readonly string[] = [];
  #v6: readonly string[] = [];

  /** `most` is the number of addresses of each kind that are kept. */
  constructor(host: string, resolver: NameResolver, most: number) {
    this.#host = host;
    this.#resolver = resolver;
    this.#most = most;
  }

  /** Asks for both kinds. It does not reject. */
  async ask(): Promise<HostAnswer> {
    const [v4, v6] = await Promise.allSettled([
      this.#resolver.resolve4(this.#host),
      this.#resolver.resolve6(this.#host),
    ]);
    const [records4, records6] = [recordsOf(v4), recordsOf(v6)];
    const came = [...(records4 ?? []), ...(records6 ?? [])];
    const hasAnswer = came.length > 0;
    if (hasAnswer && records4 !== null) this.#v4 = this.#addressesOf(records4);
    if (hasAnswer && records6 !== null) this.#v6 = this.#addressesOf(records6);
    const ttl = came.reduce((least, record) => Math.min(least, record.ttl), Number.POSITIVE_INFINITY);
    const failed = [v4, v6].find((result) => result.status === 'rejected' && !isNoRecords(result.reason));
    const why = failed === undefined ? 'no addresses' : codeOf((failed as PromiseRejectedResult).reason);
    return { addresses: [...this.#v4, ...this.#v6], ttl, problem: hasAnswer ? null : why };
  }

  #addressesOf(records: readonly AddressRecord[]): string[] {
    return [...new Set(records.map(({ address }) => address))].sort().slice(0, this.#most);
  }
}

/** The records that came, none if the server has none, or null if it is not known. */
function recordsOf(result: PromiseSettledResult<readonly AddressRecord[]>): readonly AddressRecord[] | null {
  if (result.status === 'fulfilled') return result.value;
  return isNoRecords(result.reason) ? [] : null;
}

/** The code of an error of the resolver, for an operator. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
