/**
 * The page's end of the worker. The worker's program is a function that the file engine.js
 * registers; its text becomes a blob, because Chromium starts no worker from a file: address.
 */

import type { EngineAnswer, EngineQuestion, EngineReply } from './engine-messages.ts';

type Question = EngineQuestion extends infer Q ? (Q extends EngineQuestion ? Omit<Q, 'id'> : never) : never;

/** The message of an error for questions to a worker that was stopped on purpose. */
export const STOPPED = 'Stopped';
const BROKEN = 'Cannot go on: the browser ended the worker, perhaps because its memory was full';

interface Waiting {
  readonly resolve: (answer: EngineAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly advanced: ((bytes: number) => void) | undefined;
}

export class EngineClient {
  /** The worker of now, which may be on its way; null until a question needs it. */
  #starting: Promise<Worker> | null = null;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();

  async ask(question: Question, advanced?: (bytes: number) => void): Promise<EngineAnswer> {
    const starting = (this.#starting ??= this.#start());
    const worker = await starting;
    // Stopped meanwhile, and perhaps another one started.
    if (this.#starting !== starting) throw new Error(STOPPED);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, advanced });
      worker.postMessage({ ...question, id } as EngineQuestion);
    });
  }

  /** Ends the worker, with whatever it is doing; the next question starts another one. */
  stop(): void {
    // A worker that is not there yet ends as soon as it is.
    this.#starting?.then(
      (worker) => worker.terminate(),
      () => {},
    );
    this.#starting = null;
    this.#failAll(STOPPED);
  }

  async #start(): Promise<Worker> {
    const worker = await startWorker();
    worker.onmessage = ({ data }: MessageEvent<EngineReply>) => this.#take(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#starting = null;
      worker.terminate();
      this.#failAll(BROKEN);
    };
    return worker;
  }

  #take(reply: EngineReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    if ('progress' in reply) {
      waiting.advanced?.(reply.progress);
      return;
    }
    this.#waiting.delete(reply.id);
    if ('result' in reply) waiting.resolve(reply.result);
    else waiting.reject(new Error(reply.problem));
  }

  #failAll(why: string): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(new Error(why));
  }
}

async function startWorker(): Promise<Worker> {
  const { loadFile, parts, scriptAddress } = globalThis.bloomeryConsole;
  await loadFile('engine');
  const program = parts.get('engine') as () => { serve(scope: unknown): void };
  const address = URL.createObjectURL(
    new Blob([`(${program.toString()})().serve(self);`], { type: 'text/javascript' }),
  );
  const worker = new Worker(scriptAddress(address));
  URL.revokeObjectURL(address);
  return worker;
}
