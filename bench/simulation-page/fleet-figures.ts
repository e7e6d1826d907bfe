/** The figures of simulated fleets by name, for the tables and the plots of the page. */

import { type FleetResult, messageBytesOf, messagesOf } from '@bloomery/cache/simulation';

export type Figure = (result: FleetResult) => number | null;

export const localShare: Figure = ({ localHits, requests }) => localHits / requests;
export const neighbourShare: Figure = ({ neighbourHits, requests }) => neighbourHits / requests;
export const originShare: Figure = ({ originFetches, requests }) => originFetches / requests;
export const falseHits: Figure = (result) => result.falseHits / result.requests;
export const lostHits: Figure = (result) => result.lostHits / result.requests;
export const messages: Figure = (result) => messagesOf(result) / result.requests;
/** Bytes between nodes for each request, without those of objects. */
export const messageBytes: Figure = (result) => messageBytesOf(result) / result.requests;
/** Bytes between nodes for each request: objects and messages. */
export const bytesBetween: Figure = (result) =>
  (result.objectBytes + messageBytesOf(result)) / result.requests;
export const latencyMs: Figure = (result) => result.latencyMs.mean;
export const skew: Figure = (result) => result.skew;
export const stalenessMs: Figure = (result) => result.stalenessMs;
