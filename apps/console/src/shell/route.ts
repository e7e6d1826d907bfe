/**
 * The address of a view: `#/plan?n=1000000&rate=0.01`. The state is in the fragment, because that
 * works from file: as well and is never sent to a server.
 */

const VIEWS = ['now', 'neighbours', 'plan', 'inside', 'papers'] as const;
export type ViewName = (typeof VIEWS)[number];

export interface Route {
  readonly view: ViewName;
  readonly parameters: URLSearchParams;
}

/** Returns the route of a fragment, or the fallback for one that names no view. */
function readRoute(fragment: string, fallback: ViewName): Route {
  const match = /^#\/([a-z]+)(?:\?(.*))?$/.exec(fragment);
  const view = VIEWS.find((name) => name === match?.[1]);
  if (view === undefined) return { view: fallback, parameters: new URLSearchParams() };
  return { view, parameters: new URLSearchParams(match?.[2] ?? '') };
}

/** The route of the page as it was opened: without a view in the address, Now or Plan. */
export function firstRoute(place: Pick<Location, 'protocol' | 'pathname' | 'hash'>): Route {
  return readRoute(place.hash, isServedByNode(place) ? 'now' : 'plan');
}

export function writeRoute(view: ViewName, parameters?: URLSearchParams): string {
  const text = parameters?.toString() ?? '';
  return `#/${view}${text === '' ? '' : `?${text}`}`;
}

/** Whether the page is served by a node, which then answers at `../` (docs/spec/console.md). */
export function isServedByNode({ protocol, pathname }: Pick<Location, 'protocol' | 'pathname'>): boolean {
  return /^https?:$/.test(protocol) && pathname.endsWith('/.bloomery/console/');
}
