/** Packs texts as members of a file. One packer serves one file, with several attempts. */

export interface Packer {
  /** Members of this many blocks, with this effort, in the order of the attempts. */
  readonly attempts: readonly { readonly blocks: number; readonly level: number }[];
  /** Begins a new file. */
  begin(): void;
  /** Packs each text as a member. */
  pack(texts: readonly Uint8Array[], level: number): Uint8Array[] | Promise<Uint8Array[]>;
  /** The bytes behind the last member. */
  end(): Uint8Array;
}
