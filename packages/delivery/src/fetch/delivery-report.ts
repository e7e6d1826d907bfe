/** The progress of a fetch, for programs and people. */

export interface PeerReport {
  readonly address: string;
  readonly isUp: boolean;
  /** Blocks that the peer has, and bytes of blocks that came from it. */
  readonly blocks: number;
  readonly bytes: number;
  /** The reason why the link is down or the peer is banned, or null. */
  readonly why: string | null;
}

export interface DeliveryReport {
  readonly digest: string;
  readonly phase: 'searching' | 'fetching' | 'checking' | 'done';
  /** The size of the file, or null until it is known. */
  readonly size: number | null;
  readonly blockBytes: number | null;
  readonly blocks: number;
  readonly hasBlocks: number;
  /** Bytes that were there from an earlier run, and that came from the origin and from peers. */
  readonly resumedBytes: number;
  readonly originBytes: number;
  readonly peerBytes: number;
  /** Bytes of blocks that came and were not needed, or were not right. */
  readonly wastedBytes: number;
  /** Lists of hashes and sets of claims that led to another file. */
  readonly refuted: number;
  readonly peers: readonly PeerReport[];
  readonly banned: readonly { readonly peer: string; readonly why: string }[];
  /**
   * The source of each block that is there: the origin, the number of a peer in `peers` (-1 for one
   * that is gone), or an earlier run.
   */
  readonly origins: readonly (number | 'origin' | 'resumed' | null)[];
}

/** Something that an operator may want to know. */
export type DeliveryEvent = (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
