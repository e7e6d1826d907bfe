/**
 * The proxies of the running configuration, and those of earlier ones that still have running
 * requests. A reload puts new proxies in the place of the old ones; requests and tunnels end under
 * the rules that they began with.
 */

import type { CacheProxy } from '../proxy/cache-proxy.ts';
import type { Log } from './log/log.ts';
import type { ProxySet } from './proxy-set.ts';

const RETIRE_MS = 1000;

export class CurrentProxies {
  readonly #log: Log;
  readonly #retired = new Map<ProxySet, NodeJS.Timeout>();
  #set: ProxySet | null = null;
  /** The proxy of the set, kept separately for the hot path. */
  proxy!: CacheProxy;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The set in use. There is none before the first `use`. */
  get set(): ProxySet {
    return this.#set!;
  }

  /** Takes proxies into use, and retires those before them. */
  use(proxies: ProxySet): void {
    if (this.#set !== null) this.#retire(this.#set);
    this.#set = proxies;
    this.proxy = proxies.proxy;
  }

  /** Closes proxies that have no running requests. */
  letGo(proxies: ProxySet): void {
    proxies.close().catch((error) => this.#log.event('warn', 'proxy-not-closed', { problem: error }));
  }

  async close(): Promise<void> {
    await this.#set?.close();
    for (const [proxies, timer] of this.#retired) {
      clearInterval(timer);
      await proxies.close();
    }
  }

  /** Closes the proxies when they have no running requests any more. */
  #retire(proxies: ProxySet): void {
    const timer = setInterval(() => {
      if (!proxies.idle) return;
      clearInterval(timer);
      this.#retired.delete(proxies);
      this.letGo(proxies);
    }, RETIRE_MS);
    timer.unref();
    this.#retired.set(proxies, timer);
  }
}
