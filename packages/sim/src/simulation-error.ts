/** The errors of a simulation. The message names the event, the seed and the event number. */

export type SimulationErrorCode =
  /** The code of an event threw; `cause` is its error. */
  | 'event'
  /** The promises of an event do not come to an end. */
  | 'endless'
  /** Code under simulation used a real timer, clock or source of randomness. */
  | 'sealed';

export class SimulationError extends Error {
  override readonly name = 'SimulationError';
  readonly code: SimulationErrorCode;

  constructor(code: SimulationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
