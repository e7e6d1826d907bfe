/** Messages that a transport sent and received, and their bytes, since the node was started. */
export interface TransportTraffic {
  readonly messagesSent: number;
  readonly bytesSent: number;
  readonly messagesReceived: number;
  readonly bytesReceived: number;
}

export const NO_TRAFFIC: TransportTraffic = {
  messagesSent: 0,
  bytesSent: 0,
  messagesReceived: 0,
  bytesReceived: 0,
};

export function addTraffic(a: TransportTraffic, b: TransportTraffic): TransportTraffic {
  return {
    messagesSent: a.messagesSent + b.messagesSent,
    bytesSent: a.bytesSent + b.bytesSent,
    messagesReceived: a.messagesReceived + b.messagesReceived,
    bytesReceived: a.bytesReceived + b.bytesReceived,
  };
}
