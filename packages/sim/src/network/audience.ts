/**
 * The links that receive what one node publishes on one topic: those that work and have a
 * subscription. A publication takes the list as it is at that moment and does not touch the links:
 * in a fleet of a million links, each of them is a miss in the processor's cache. So the list is
 * kept current when links come and go, and copied only if a message that is under way has it.
 */

import type { SimLink } from './sim-link.ts';

export class Audience {
  #links: SimLink[] = [];
  /** Whether a message has this list, which must then stay as it is. */
  #isTaken = false;

  add(link: SimLink): void {
    this.#ownLinks().push(link);
  }

  remove(link: SimLink): void {
    const links = this.#ownLinks();
    const at = links.indexOf(link);
    if (at >= 0) links.splice(at, 1);
  }

  /** The links as they are now, in the order in which they came. The list never changes. */
  take(): readonly SimLink[] {
    this.#isTaken = true;
    return this.#links;
  }

  #ownLinks(): SimLink[] {
    if (this.#isTaken) this.#links = [...this.#links];
    this.#isTaken = false;
    return this.#links;
  }
}
