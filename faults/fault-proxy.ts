import { StringDecoder } from "node:string_decoder";
import type { Dispatcher } from "undici";
import type { NumberedEvent } from "../server/protocol/sidecar.ts";
import type { SandboxDoor } from "../server/sandboxes/sandbox-backend.ts";
import { type DeliveryStep, deliverInOrder } from "./deliver-in-order.ts";

/** What is done to the traffic between server and sidecar while it is set. Everything else passes as it is. */
export interface TrafficFault {
  /** Called with each event of the agent, in order, once for each connection that carries it. */
  onEvent?(event: NumberedEvent): DeliveryStep[] | undefined;
  /** True: the request is refused, as by a sidecar that cannot be reached. */
  refuses?(path: string): boolean;
  /** True: the request arrives and is answered, but the answer is lost. */
  losesAnswer?(path: string): boolean;
}

/** Stands between the server and every sidecar. Knows the frames of the event stream, and nothing of their meaning. */
export interface FaultProxy {
  fault: TrafficFault | null;
  /** Events of the agent that came from sidecars so far. */
  readonly events: number;
  wrap(door: SandboxDoor): SandboxDoor;
  /** Breaks every connection that carries events. */
  cut(): void;
}

export function createFaultProxy(): FaultProxy {
  const streams = new Set<Dispatcher.DispatchController>();
  let events = 0;

  const proxy: FaultProxy = {
    fault: null,
    get events() {
      return events;
    },
    cut() {
      for (const controller of [...streams]) controller.abort(new Error("The fault proxy cut the connection."));
    },
    wrap: ({ dispatcher, ...door }) => ({
      ...door,
      dispatcher: dispatcher.compose((dispatch) => (options, handler) => {
        if (proxy.fault?.refuses?.(options.path)) throw new Error("The fault proxy refused the connection.");
        if (options.path.startsWith("/agent-events")) return dispatch(options, eventHandler(handler));
        if (proxy.fault?.losesAnswer?.(options.path)) return dispatch(options, losingHandler(handler));
        return dispatch(options, handler);
      }),
    }),
  };

  function eventHandler(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
    const delivery = deliverInOrder();
    const decoder = new StringDecoder("utf8");
    let text = "";
    const end = (controller: Dispatcher.DispatchController) => {
      streams.delete(controller);
      delivery.end();
    };
    const give = (controller: Dispatcher.DispatchController, bytes: string) => {
      if (!controller.aborted) handler.onResponseData?.(controller, Buffer.from(bytes));
    };
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart(controller, status, headers, message) {
        streams.add(controller);
        handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData(controller, chunk) {
        text += decoder.write(chunk);
        const frames = text.split("\n\n");
        text = frames.pop() ?? "";
        for (const frame of frames) {
          const event = eventOf(frame);
          if (event) events += 1;
          const steps = (event && proxy.fault?.onEvent?.(event)) || [{ send: frame }];
          for (const step of steps) {
            delivery.add(step, {
              send: (what) => give(controller, typeof what === "string" ? `${what}\n\n` : frameOf(what)),
              cut(keep) {
                // In the middle of a frame: what came of it must count for nothing.
                give(controller, frame.slice(0, Math.floor(frame.length * keep)));
                proxy.cut();
              },
            });
          }
        }
      },
      onResponseEnd(controller, trailers) {
        end(controller);
        handler.onResponseEnd?.(controller, trailers);
      },
      onResponseError(controller, error) {
        end(controller);
        handler.onResponseError?.(controller, error);
      },
    };
  }

  return proxy;
}

function losingHandler(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onResponseStart(controller) {
      controller.abort(new Error("The fault proxy lost the answer."));
    },
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  };
}

function eventOf(frame: string): NumberedEvent | null {
  const data = /^data: (.*)$/m.exec(frame)?.[1];
  const event = data ? (JSON.parse(data) as NumberedEvent) : null;
  return event?.type === "agent" ? event : null;
}

function frameOf(event: NumberedEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
