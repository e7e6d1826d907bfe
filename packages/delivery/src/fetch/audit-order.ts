/**
 * The order in which blocks from peers are compared with the origin's after a file without a list
 * turned out wrong: one of each node that vouched for some, then the rest. When a node is found to
 * have lied, all that it vouched for comes next. Honest nodes that passed the lie on cost nothing
 * more, because vouchers are those that had a block first.
 */

export interface AuditOrder {
  /** The next block, or null. */
  next(): number | null;
  /** The voucher of a block lied. */
  suspect(voucher: string | null): void;
  /** True if no suspect has blocks left: the time to compare the whole file again. */
  readonly isGroupDone: boolean;
}

export function auditOrder(
  blocks: readonly number[],
  voucherOf: (block: number) => string | null,
  random: () => number,
): AuditOrder {
  const groups = new Map<string | null, number[]>();
  for (const block of blocks) {
    const voucher = voucherOf(block);
    const group = groups.get(voucher) ?? [];
    group.splice(Math.floor(random() * (group.length + 1)), 0, block);
    groups.set(voucher, group);
  }
  const samples = [...groups.values()].map((group) => group.pop()!);
  const suspects: number[] = [];
  return {
    next() {
      const suspected = suspects.pop() ?? samples.pop();
      if (suspected !== undefined) return suspected;
      for (const group of groups.values()) if (group.length > 0) return group.pop()!;
      return null;
    },
    suspect(voucher) {
      suspects.push(...(groups.get(voucher)?.splice(0) ?? []));
    },
    get isGroupDone() {
      return suspects.length === 0;
    },
  };
}
