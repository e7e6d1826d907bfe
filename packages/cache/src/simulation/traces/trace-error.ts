/** A trace file that cannot be simulated: another format, no request in it, or too many objects. */
export class TraceError extends Error {
  override readonly name = 'TraceError';
  readonly code: 'format' | 'empty' | 'limit';

  constructor(code: TraceError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
