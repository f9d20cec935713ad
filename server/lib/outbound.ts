import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";

/** The machine's own proxy. */
export interface OutboundProxy {
  http: string | null;
  https: string | null;
  except: string;
}

/** The server's way to providers, through the machine's proxy where it has one. The caller destroys it. */
export function createOutbound(proxy: OutboundProxy, silenceMilliseconds = 300_000): Dispatcher {
  const limits = {
    headersTimeout: silenceMilliseconds,
    bodyTimeout: silenceMilliseconds,
    connect: { timeout: 10_000 },
    connectTimeout: 10_000,
  };
  if (!proxy.http && !proxy.https) return new Agent(limits);
  const { http, https, except } = proxy;
  return new EnvHttpProxyAgent({
    ...limits,
    // A model on this very machine is never the proxy's to reach.
    noProxy: ["localhost", "127.0.0.1", except].filter(Boolean).join(","),
    ...(http && { httpProxy: http }),
    ...(https && { httpsProxy: https }),
  });
}
