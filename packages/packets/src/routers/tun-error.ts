/** The error of a TUN device that cannot be opened. */

export type TunErrorCode =
  /** The program that holds the device could not be started: no Perl, or no `ip`. */
  | 'program'
  /** The kernel refused the device: no root, no /dev/net/tun, a name or an address in use. */
  | 'device';

export class TunError extends Error {
  override readonly name = 'TunError';
  readonly code: TunErrorCode;

  constructor(code: TunErrorCode, device: string, got: string) {
    super(`Cannot open a TUN device: expected ${device}, got ${got}`);
    this.code = code;
  }
}
