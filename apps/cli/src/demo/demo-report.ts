/** Tells the demonstration's scenes, checks its claims, and adds up what happened. */

export class DemoReport {
  readonly #writeLine: (text?: string) => void;
  readonly #failures: string[] = [];
  #scenes = 0;
  /** Requests of clients so far. */
  #asked = 0;
  #fromNeighbours = 0;

  constructor(writeLine: (text?: string) => void) {
    this.#writeLine = writeLine;
  }

  get hasFailed(): boolean {
    return this.#failures.length > 0;
  }

  scene(title: string): void {
    this.#writeLine(`${++this.#scenes}. ${title}`);
  }

  say(text: string): void {
    this.#writeLine(`   ${text}`);
  }

  /** Checks a claim that a scene makes. */
  claim(isTrue: boolean, claim: string): void {
    if (isTrue) return;
    this.#failures.push(claim);
    this.say(`NOT SO: ${claim}`);
  }

  /** Counts requests of clients, and those of them that a neighbour answered. */
  count(asked: number, fromNeighbours: number): void {
    this.#asked += asked;
    this.#fromNeighbours += fromNeighbours;
  }

  /** Ends a scene. */
  pause(): void {
    this.#writeLine();
  }

  conclude(originRequests: number): void {
    this.#writeLine(
      `All in all: ${this.#asked} requests of clients, ${originRequests} at the origin, ${this.#fromNeighbours} answered by a neighbour.`,
    );
    if (this.hasFailed) this.#writeLine(`${this.#failures.length} of the claims above did not hold.`);
    else this.#writeLine('Every body was complete and right, byte for byte.');
  }
}
