/**
 * The requests that the planner accepts, and the checks that turn a request into a problem.
 *
 * A field with a typo must not be ignored: `falsePositveRate` would silently plan for another goal.
 * So unknown fields are a TypeError, and fields that would have no effect with the given goal are a
 * RangeError.
 */

import { checkChoice, checkInteger, checkNumber, checkRate, MAX_BITS } from '../checks.ts';
import { type LayoutModel, layoutModel, type PlanLayout } from './plan-layout.ts';

/**
 * The scarce resource: memory, the size of the filter sent whole, or the size of its changes.
 */
export type PlanGoal = 'memory' | 'transmission' | 'delta';

/** The structure that is planned: an array of bits, or of counters. */
export type PlanStructure = 'bloom' | 'counting';

export interface PlanRequest {
  /** n, the number of distinct keys. If it is missing, the planner finds the largest possible. */
  readonly capacity?: number | undefined;
  /** The false positive rate that must not be exceeded at capacity. */
  readonly falsePositiveRate?: number | undefined;
  /** m, the exact size of the bit array. */
  readonly bits?: number | undefined;
  /** k, the exact number of hash functions. */
  readonly hashes?: number | undefined;
  /**
   * z, the largest expected size in bits of the compressed filter, or of the delta if that is the
   * goal.
   */
  readonly transmissionBits?: number | undefined;
  /** c, the fraction of the keys that is replaced between two deltas. */
  readonly changedFraction?: number | undefined;
  /**
   * The number of bytes that a compressed message must not exceed, with probability
   * `fitProbability`. Headers are not counted.
   */
  readonly maxMessageBytes?: number | undefined;
  /** Default 0.99. */
  readonly fitProbability?: number | undefined;
  readonly maxHashes?: number | undefined;
  readonly maxBits?: number | undefined;
  /**
   * Default 'bloom'. With 'counting', `bits` and `maxBits` are numbers of counters, and messages
   * are those of the coded counters.
   */
  readonly structure?: PlanStructure | undefined;
  /** Default 'classic'. */
  readonly layout?: PlanLayout | undefined;
  /**
   * Default: 'delta' if changedFraction is given, otherwise 'transmission' if a message size is
   * given, otherwise 'memory'.
   */
  readonly goal?: PlanGoal | undefined;
}

/** The field that keeps the result from being better. */
export type PlanBinding =
  | 'falsePositiveRate'
  | 'bits'
  | 'hashes'
  | 'maxHashes'
  | 'maxBits'
  | 'transmissionBits'
  | 'maxMessageBytes';

/** A checked request. */
export interface Problem extends PlanRequest {
  readonly model: LayoutModel;
  readonly goal: PlanGoal;
  readonly structure: PlanStructure;
  readonly fitProbability: number;
  /** The most hash functions to propose: maxHashes, or a practical limit. */
  readonly hashLimit: number;
}

/** A solution for a given capacity. */
export interface Choice {
  readonly bits: number;
  readonly hashes: number;
  readonly binding: PlanBinding;
  readonly notes: readonly string[];
}

/** A solution, or the reason why there is none. */
export type PlanOutcome = Choice | { readonly impossible: string };

export function checkPlanRequest(request: PlanRequest): Problem {
  if (typeof request !== 'object' || request === null) {
    throw new TypeError(
      `Cannot plan a filter: expected an object, got ${request === null ? 'null' : typeof request}`,
    );
  }
  for (const field of Object.keys(request)) {
    if (!FIELDS.includes(field)) {
      throw new TypeError(
        `Cannot plan a filter: expected fields of ${FIELDS.join(', ')}, got ${JSON.stringify(field)}`,
      );
    }
  }
  const { capacity, falsePositiveRate, bits, hashes, transmissionBits, changedFraction } = request;
  const { maxMessageBytes, fitProbability = 0.99, maxHashes, maxBits, layout = 'classic' } = request;
  const { structure = 'bloom' } = request;
  if (capacity !== undefined) checkInteger('capacity', capacity, 1);
  if (falsePositiveRate !== undefined) checkRate('falsePositiveRate', falsePositiveRate);
  if (bits !== undefined) checkInteger('bits', bits, 1, MAX_BITS);
  if (maxBits !== undefined) checkInteger('maxBits', maxBits, 1, MAX_BITS);
  if (transmissionBits !== undefined) checkNumber('transmissionBits', transmissionBits, 1);
  if (maxMessageBytes !== undefined) checkNumber('maxMessageBytes', maxMessageBytes, 1);
  if (changedFraction !== undefined) checkRate('changedFraction', changedFraction);
  checkRate('fitProbability', fitProbability);

  const model = layoutModel(layout);
  if (hashes !== undefined) checkInteger('hashes', hashes, model.minHashes, model.mostHashes);
  if (maxHashes !== undefined) checkInteger('maxHashes', maxHashes, model.minHashes);
  if (hashes !== undefined && maxHashes !== undefined && hashes > maxHashes) {
    throw new RangeError(
      `Cannot plan a filter: expected at most maxHashes ${maxHashes}, got hashes ${hashes}`,
    );
  }
  if (bits !== undefined && maxBits !== undefined && bits > maxBits) {
    throw new RangeError(`Cannot plan a filter: expected at most maxBits ${maxBits}, got bits ${bits}`);
  }
  checkChoice('structure', structure, ['bloom', 'counting']);
  if (structure === 'counting' && !model.sendable) {
    throw new RangeError(
      `Cannot plan a filter: expected layout 'classic' or 'partitioned' for structure 'counting', got '${model.name}'`,
    );
  }
  const goal = request.goal ?? inferGoal(request);
  checkGoal(goal, request, model);
  checkSufficient(request);
  const hashLimit = Math.min(maxHashes ?? model.practicalHashes, model.mostHashes);
  return { ...request, model, goal, structure, fitProbability, hashLimit };
}

const FIELDS: readonly string[] = [
  'capacity',
  'falsePositiveRate',
  'bits',
  'hashes',
  'transmissionBits',
  'changedFraction',
  'maxMessageBytes',
  'fitProbability',
  'maxHashes',
  'maxBits',
  'structure',
  'layout',
  'goal',
];

function inferGoal({ changedFraction, transmissionBits, maxMessageBytes }: PlanRequest): PlanGoal {
  if (changedFraction !== undefined) return 'delta';
  return transmissionBits !== undefined || maxMessageBytes !== undefined ? 'transmission' : 'memory';
}

function checkGoal(goal: PlanGoal, request: PlanRequest, model: LayoutModel): void {
  checkChoice('goal', goal, ['memory', 'transmission', 'delta']);
  if (goal === 'memory') {
    for (const field of ['transmissionBits', 'maxMessageBytes'] as const) {
      if (request[field] !== undefined) {
        throw new RangeError(
          `Cannot plan a filter: expected goal 'transmission' with ${field} ${request[field]}, got 'memory'`,
        );
      }
    }
  } else if (!model.sendable) {
    throw new RangeError(
      `Cannot plan a filter: expected layout 'classic' or 'partitioned' for goal '${goal}', got '${model.name}', whose blocks fill unevenly`,
    );
  }
  if (goal === 'delta' && request.changedFraction === undefined) {
    throw new RangeError("Cannot plan a filter: expected changedFraction for goal 'delta', got none");
  }
}

function checkSufficient(request: PlanRequest): void {
  const { capacity, falsePositiveRate, bits, maxBits, transmissionBits, maxMessageBytes } = request;
  const size = bits ?? maxBits ?? transmissionBits ?? maxMessageBytes;
  if (capacity === undefined && (falsePositiveRate === undefined || size === undefined)) {
    throw new RangeError(
      `Cannot plan a filter without capacity: expected falsePositiveRate and one of bits, maxBits, transmissionBits, maxMessageBytes, got no ${falsePositiveRate === undefined ? 'falsePositiveRate' : 'size'}`,
    );
  }
  if (capacity !== undefined && falsePositiveRate === undefined && size === undefined) {
    throw new RangeError(
      `Cannot plan a filter: expected falsePositiveRate, bits, maxBits, transmissionBits or maxMessageBytes, got capacity ${capacity} alone`,
    );
  }
}
