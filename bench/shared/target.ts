/** A ratio that the library set out to reach, and what was measured. */

export interface Target {
  readonly what: string;
  readonly keys: string;
  /** The median of the rounds' ratios: this decides. */
  readonly measured: number;
  /**
   * The same ratio from the fastest round of either side: what a quiet machine would show. Null for
   * sizes.
   */
  readonly fastest: number | null;
  readonly sense: 'at least' | 'at most';
  readonly wanted: number;
  readonly unit: string;
  readonly met: boolean;
}

/** A target and whether it is met; none where a side of it was not measured. */
export function judged(target: Omit<Target, 'met'> | null): Target[] {
  if (target === null || Number.isNaN(target.measured)) return [];
  const { sense, measured, wanted } = target;
  return [{ ...target, met: sense === 'at least' ? measured >= wanted : measured <= wanted }];
}
