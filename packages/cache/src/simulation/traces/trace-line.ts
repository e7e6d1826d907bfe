/** One line of a trace file, before its object and its client have numbers. */

export interface TraceLine {
  /** Milliseconds since any moment, or null if the format has no times. */
  readonly timeMs: number | null;
  /** Name or address of the client, or null if the format has no clients. */
  readonly client: string | null;
  /** Name of the object. Two lines with the same name ask for the same object. */
  readonly object: string;
  /** Length of the body that was sent, or null if the line does not tell it. */
  readonly bytes: number | null;
}
