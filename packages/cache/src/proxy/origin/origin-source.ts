/** The origin of a route as a source of responses: the last one of every fetch. */

import type { ResponseSource, SourceFetch, SourceHandler, SourceRequest } from '../response-source.ts';
import type { Route } from '../route.ts';
import type { OriginClient } from './origin-client.ts';

export class OriginSource implements ResponseSource {
  readonly #client: OriginClient;
  readonly #route: Route;

  constructor(client: OriginClient, route: Route) {
    this.#client = client;
    this.#route = route;
  }

  get name(): string {
    return this.#route.origin;
  }

  ask(request: SourceRequest, handler: SourceHandler): SourceFetch {
    const { origin, trusted, path, host } = this.#route;
    return this.#client.fetch({ ...request, origin, trusted, path, host }, handler);
  }
}
