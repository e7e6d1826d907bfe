/**
 * A link that many flows share, in virtual time: TCP connections that respond to losses and marks,
 * flows of UDP that do not, and the queue discipline under trial in front of the link. It is the
 * experiment of the paper on stochastic fair Blue, with any number of flows and any queue.
 *
 * The model. All packets have the same length. A packet reaches the queue as soon as it is sent.
 * When it has left the link, its acknowledgement arrives after the round-trip time of its flow. So
 * the whole propagation delay lies behind the queue, which changes no time that a flow can see.
 * Acknowledgements are not lost. Flows of UDP send at a constant rate, each gap drawn from half to
 * one and a half times the mean, because a fixed gap can fall into step with the queue.
 *
 * The same seed gives the same result, and all queues see the same round-trip times and starts.
 */

import { Simulation } from '@bloomery/sim';
import { SecretKey } from 'bloomery';
import type { Draw, PacketQueue, QueueItem } from '../queues/packet-queue.ts';
import { DelayHistogram } from './delay-histogram.ts';
import { type Segment, TcpSender } from './tcp-sender.ts';

/** A packet in the simulation. */
export class SimPacket implements QueueItem {
  readonly flow: number;
  readonly byteLength: number;
  readonly isEcnCapable: boolean;
  /** The number of the packet in its connection, or null for UDP. */
  readonly segment: Segment | null;
  isMarked = false;
  queuedMs = 0;

  constructor(flow: number, byteLength: number, isEcnCapable: boolean, segment: Segment | null) {
    this.flow = flow;
    this.byteLength = byteLength;
    this.isEcnCapable = isEcnCapable;
    this.segment = segment;
  }

  mark(): void {
    this.isMarked = true;
  }
}

/** The things that a queue may need of the simulation. */
export interface QueueTools {
  readonly random: Draw;
  readonly nextKey: () => SecretKey;
  /** Time that the link takes for one packet. */
  readonly packetMs: number;
}

export interface BottleneckOptions {
  readonly seed: number;
  readonly bitsPerSecond: number;
  /** Default 1000. */
  readonly packetBytes?: number;
  readonly queue: (tools: QueueTools) => PacketQueue<SimPacket>;
  readonly tcp: TcpLoad;
  /** Bits per second of each flow that does not respond. */
  readonly udpBitsPerSecond: readonly number[];
  /** Whether UDP packets claim that their sender understands marks. Default false. */
  readonly udpClaimsEcn?: boolean;
  /** Time that is measured. */
  readonly seconds: number;
  /** Time before it, in which all connections start. */
  readonly warmUpSeconds: number;
}

export interface TcpLoad {
  readonly flows: number;
  /** The shortest and the longest round-trip time without waiting, from which each is drawn. */
  readonly rttMs: readonly [shortest: number, longest: number];
  readonly ecn: boolean;
}

/** Figures of the measured time. Flows of UDP come after those of TCP. */
export interface BottleneckResult {
  /** Bits per second that arrived, for each flow. */
  readonly tcp: readonly number[];
  readonly udp: readonly number[];
  /** An equal part of the link for each flow. */
  readonly fairShare: number;
  /** Share of the packets that were dropped. */
  readonly tcpLoss: number;
  readonly udpLoss: number;
  /** Share of the packets of TCP that were marked and not dropped afterwards. */
  readonly tcpMarked: number;
  /** Share of the link's capacity that was used. */
  readonly utilization: number;
  /** Jain's index of the TCP flows: 1 if all got the same. */
  readonly fairness: number;
  /** Time from the arrival at the queue to the end of the link. */
  readonly delayMs: { readonly mean: number; readonly p99: number };
  readonly timeouts: number;
}

interface Flow {
  sent: number;
  dropped: number;
  marked: number;
  arrived: number;
}

export async function simulateBottleneck(options: BottleneckOptions): Promise<BottleneckResult> {
  check(options);
  const simulation = new Simulation({ seed: options.seed });
  const bottleneck = new Bottleneck(simulation, options);
  await simulation.run({ untilMs: 1000 * (options.warmUpSeconds + options.seconds) });
  return bottleneck.result();
}

class Bottleneck {
  readonly #simulation: Simulation;
  readonly #options: Required<BottleneckOptions>;
  readonly #queue: PacketQueue<SimPacket>;
  readonly #packetMs: number;
  readonly #senders: TcpSender[] = [];
  readonly #roundTripsMs: number[];
  readonly #flows: Flow[];
  readonly #delays = new DelayHistogram();
  readonly #jitter: Draw;
  #isBusy = false;

  constructor(simulation: Simulation, options: BottleneckOptions) {
    this.#simulation = simulation;
    this.#options = { packetBytes: 1000, udpClaimsEcn: false, ...options };
    const { tcp, udpBitsPerSecond, packetBytes, bitsPerSecond } = this.#options;
    this.#packetMs = (8000 * packetBytes) / bitsPerSecond;
    const random = simulation.random('queue');
    const key = simulation.random('keys');
    const nextKey = () => new SecretKey(Uint8Array.from({ length: 16 }, () => Math.floor(256 * key())));
    this.#queue = options.queue({ random, nextKey, packetMs: this.#packetMs });
    this.#jitter = simulation.random('jitter');
    const rtt = simulation.random('round trips');
    const [shortest, longest] = tcp.rttMs;
    this.#roundTripsMs = Array.from({ length: tcp.flows }, () => shortest + (longest - shortest) * rtt());
    this.#flows = Array.from({ length: tcp.flows + udpBitsPerSecond.length }, () => ({
      sent: 0,
      dropped: 0,
      marked: 0,
      arrived: 0,
    }));
    this.#startAll();
  }

  #startAll(): void {
    const { tcp, udpBitsPerSecond, packetBytes, warmUpSeconds } = this.#options;
    const start = this.#simulation.random('starts');
    for (let flow = 0; flow < tcp.flows; flow++) {
      this.#senders.push(new TcpSender());
      this.#simulation.after(500 * warmUpSeconds * start(), () => {
        this.#sendTcp(flow);
        this.#watch(flow);
      });
    }
    for (const [i, bits] of udpBitsPerSecond.entries()) {
      const gapMs = (8000 * packetBytes) / bits;
      if (bits > 0) this.#simulation.after(gapMs * start(), () => this.#sendUdp(tcp.flows + i, gapMs));
    }
  }

  result(): BottleneckResult {
    const { tcp, udpBitsPerSecond, seconds, packetBytes, bitsPerSecond } = this.#options;
    const rates = this.#flows.map(({ arrived }) => (8 * packetBytes * arrived) / seconds);
    const [tcpRates, udpRates] = [rates.slice(0, tcp.flows), rates.slice(tcp.flows)];
    const total = (flows: readonly Flow[], of: (flow: Flow) => number) =>
      flows.reduce((sum, flow) => sum + of(flow), 0);
    const share = (flows: readonly Flow[], of: (flow: Flow) => number) =>
      total(flows, of) /
      Math.max(
        1,
        total(flows, ({ sent }) => sent),
      );
    const [tcpFlows, udpFlows] = [this.#flows.slice(0, tcp.flows), this.#flows.slice(tcp.flows)];
    const sum = tcpRates.reduce((a, b) => a + b, 0);
    const squares = tcpRates.reduce((a, b) => a + b * b, 0);
    return {
      tcp: tcpRates,
      udp: udpRates,
      fairShare: bitsPerSecond / (tcp.flows + udpBitsPerSecond.filter((bits) => bits > 0).length),
      tcpLoss: share(tcpFlows, ({ dropped }) => dropped),
      udpLoss: share(udpFlows, ({ dropped }) => dropped),
      tcpMarked: share(tcpFlows, ({ marked }) => marked),
      utilization: rates.reduce((a, b) => a + b, 0) / bitsPerSecond,
      fairness: squares === 0 ? 1 : sum ** 2 / (tcp.flows * squares),
      delayMs: { mean: this.#delays.meanMs, p99: this.#delays.percentileMs(0.99) },
      timeouts: this.#senders.reduce((count, { timeouts }) => count + timeouts, 0),
    };
  }

  #sendTcp(flow: number): void {
    const { tcp, packetBytes } = this.#options;
    const sender = this.#senders[flow]!;
    for (;;) {
      const segment = sender.nextPacket(this.#simulation.elapsedMs);
      if (segment === null) return;
      // RFC 3168, section 6.1.5: "ECN-capable TCP implementations MUST NOT set either ECT codepoint
      // […] in the IP header for retransmitted data packets".
      const isEcnCapable = tcp.ecn && !segment.isRetransmission;
      this.#arrive(new SimPacket(flow, packetBytes, isEcnCapable, segment));
    }
  }

  /** Waits for the deadline of a sender, which moves with every acknowledgement. */
  #watch(flow: number): void {
    const sender = this.#senders[flow]!;
    const nowMs = this.#simulation.elapsedMs;
    const waitMs = sender.deadlineMs === Infinity ? 1000 : sender.deadlineMs - nowMs;
    this.#simulation.after(Math.max(1, waitMs), () => {
      if (sender.deadlineMs <= this.#simulation.elapsedMs) {
        sender.timeOut(this.#simulation.elapsedMs);
        this.#sendTcp(flow);
      }
      this.#watch(flow);
    });
  }

  #sendUdp(flow: number, gapMs: number): void {
    const { packetBytes, udpClaimsEcn } = this.#options;
    this.#arrive(new SimPacket(flow, packetBytes, udpClaimsEcn, null));
    this.#simulation.after(gapMs * (0.5 + this.#jitter()), () => this.#sendUdp(flow, gapMs));
  }

  #arrive(packet: SimPacket): void {
    const nowMs = this.#simulation.elapsedMs;
    packet.queuedMs = nowMs;
    const dropped = this.#queue.enqueue(packet, nowMs);
    if (this.#isMeasured) {
      this.#flows[packet.flow]!.sent++;
      if (packet.isMarked && !dropped.includes(packet)) this.#flows[packet.flow]!.marked++;
      for (const { flow } of dropped) this.#flows[flow]!.dropped++;
    }
    if (!this.#isBusy) this.#transmit();
  }

  #transmit(): void {
    const packet = this.#queue.dequeue(this.#simulation.elapsedMs);
    this.#isBusy = packet !== null;
    if (packet === null) return;
    this.#simulation.after(this.#packetMs, () => {
      this.#deliver(packet);
      this.#transmit();
    });
  }

  #deliver({ flow, segment, isMarked, queuedMs }: SimPacket): void {
    const nowMs = this.#simulation.elapsedMs;
    if (this.#isMeasured) {
      this.#flows[flow]!.arrived++;
      this.#delays.add(nowMs - queuedMs);
    }
    const sender = this.#senders[flow];
    if (sender === undefined || segment === null) return;
    // A fraction of a packet's time, so that flows do not march in step.
    const backMs = this.#roundTripsMs[flow]! + this.#packetMs * this.#jitter();
    this.#simulation.after(backMs, () => {
      sender.acknowledge(segment, isMarked, this.#simulation.elapsedMs);
      this.#sendTcp(flow);
    });
  }

  get #isMeasured(): boolean {
    return this.#simulation.elapsedMs >= 1000 * this.#options.warmUpSeconds;
  }
}

function check({ bitsPerSecond, tcp, seconds, warmUpSeconds, packetBytes = 1000 }: BottleneckOptions): void {
  const [shortest, longest] = tcp.rttMs;
  const isTime = seconds > 0 && warmUpSeconds >= 0 && shortest > 0 && longest >= shortest;
  if (!(isTime && bitsPerSecond > 0 && packetBytes > 0 && Number.isInteger(tcp.flows) && tcp.flows >= 0)) {
    throw new RangeError(
      `Cannot simulate a link: expected times, a bandwidth and packets above 0, got ${seconds} s after ${warmUpSeconds} s, round trips of ${shortest} to ${longest} ms, ${bitsPerSecond} bit/s, ${packetBytes} bytes, ${tcp.flows} flows`,
    );
  }
}
