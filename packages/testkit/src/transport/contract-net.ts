/**
 * The network that the contract suite needs: nodes by name, faults, and a way to wait. Each adapter
 * brings one.
 */

import type { Subscription, Transport } from '@bloomery/transport';

export interface ContractNet {
  /** The address of a node, also before it starts. */
  address(name: string): string;
  /** Starts a node with the named neighbours. Its id is `id`, or its name. */
  start(name: string, peers: string[], id?: string): Promise<Transport>;
  /** Lets the traffic of a node's address vanish, without closing anything. */
  silence(name: string): void;
  unsilence(name: string): void;
  /** Damages the next message that leaves a node. */
  damageNext(name: string): void;
  /** True if the adapter brings a damaged message again, so that it is not missed. */
  readonly repairs?: boolean;
  /** Lets time go by until a condition holds. */
  until(what: string, condition: () => boolean): Promise<void>;
  /** Awaits a promise while time goes by. */
  during<T>(promise: Promise<T>): Promise<T>;
  end(): Promise<void>;
}

/** A subscription that writes down what it is told. */
export class Recorder implements Subscription {
  readonly told: string[] = [];
  readonly messages: Uint8Array[] = [];

  message(bytes: Uint8Array): void {
    this.messages.push(bytes);
    this.told.push(bytes.length <= 16 ? `message ${new TextDecoder().decode(bytes)}` : 'message');
  }

  open(): void {
    this.told.push('open');
  }

  closed(_why: string): void {
    this.told.push('closed');
  }

  /** How often a word was told. */
  count(word: string): number {
    return this.told.filter((each) => each === word).length;
  }
}
