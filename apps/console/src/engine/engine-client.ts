/**
 * The page's end of the worker. The worker's program is a function that the file engine.js
 * registers; its text becomes a blob, because Chromium starts no worker from a file: address.
 */

import type { EngineAnswer, EngineQuestion, EngineReply } from './engine-messages.ts';

type Question = EngineQuestion extends infer Q ? (Q extends EngineQuestion ? Omit<Q, 'id'> : never) : never;

interface Waiting {
  readonly resolve: (answer: EngineAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly advanced: ((bytes: number) => void) | undefined;
}

export class EngineClient {
  #worker: Worker | null = null;
  #starting: Promise<Worker> | null = null;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();

  async ask(question: Question, advanced?: (bytes: number) => void): Promise<EngineAnswer> {
    const worker = this.#worker ?? (await this.#start());
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, advanced });
      worker.postMessage({ ...question, id } as EngineQuestion);
    });
  }

  /** Ends the worker, with whatever it is doing; the next question starts another one. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#starting = null;
    this.#failAll('Stopped');
  }

  #start(): Promise<Worker> {
    this.#starting ??= startWorker().then((worker) => {
      this.#worker = worker;
      worker.onmessage = ({ data }: MessageEvent<EngineReply>) => this.#take(data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.stop();
      };
      return worker;
    });
    return this.#starting;
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
