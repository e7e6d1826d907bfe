/**
 * The state of a file as one follower knows it: what was sent, and what must follow. A follower
 * that reads slowly gets fewer and larger messages, because nothing is written while earlier bytes
 * wait.
 */

import type { ServerResponse } from 'node:http';
import { BlockSet } from '../decisions/block-set.ts';
import { MOST_HASHES, type StateMessage, type ToldHash, writeStateMessage } from '../wire/state-message.ts';
import type { SharedFile } from './shared-file.ts';

const MOST_PEERS = 64;

export class StateStream {
  readonly #file: SharedFile;
  readonly #response: ServerResponse;
  #head = '';
  #sent = new BlockSet(0);
  #others = '';
  #fetching = '';

  constructor(file: SharedFile, response: ServerResponse) {
    this.#file = file;
    this.#response = response;
  }

  /** Sends what changed. With `beat` it sends something in any case. */
  update(beat: boolean): void {
    if (this.#response.writableNeedDrain || this.#response.destroyed) return;
    const { shape, has, isComplete, asksOrigin, node, list, fetching, others } = this.#file;
    const messages: StateMessage[] = [];
    const head = {
      type: 'head',
      size: shape?.size ?? null,
      isComplete,
      asksOrigin,
      node,
      list: list?.name ?? null,
    } as const;
    const shrank = this.#sent.words.some((word, i) => (word & ~(has.words[i] ?? 0)) !== 0);
    const isNew = JSON.stringify(head) !== this.#head || shrank;
    if (isNew) {
      this.#head = JSON.stringify(head);
      this.#sent = new BlockSet(shape?.blocks ?? 0);
      messages.push(head);
    }
    const more: number[] = [];
    for (const block of has.without(this.#sent)) {
      this.#sent.add(block);
      more.push(block);
    }
    if (list === null) messages.push(...this.#hashesOf(more));
    if (isNew || more.length > 256) messages.push({ type: 'blocks', has });
    else if (more.length > 0) messages.push({ type: 'more', blocks: more });
    if (beat || this.#fetching !== fetching.join()) {
      this.#fetching = fetching.join();
      messages.push({ type: 'fetching', blocks: fetching });
    }
    const addresses = others.slice(0, MOST_PEERS);
    if (this.#others !== addresses.join()) {
      this.#others = addresses.join();
      messages.push({ type: 'peers', addresses });
    }
    if (messages.length > 0) this.#response.write(Buffer.concat(messages.map(writeStateMessage)));
  }

  /** Hashes go before their blocks, so that a follower can use a block as soon as it is told. */
  #hashesOf(blocks: readonly number[]): StateMessage[] {
    const messages: StateMessage[] = [];
    for (let at = 0; at < blocks.length; at += MOST_HASHES) {
      const hashes: ToldHash[] = blocks
        .slice(at, at + MOST_HASHES)
        .map((block) => ({ block, ...this.#file.hashOf(block) }));
      messages.push({ type: 'hashes', hashes });
    }
    return messages;
  }
}
