import { join } from "node:path";
import type { Layout } from "../layout.ts";

export interface AgentEnvironmentInput {
  layout: Layout;
  sandboxId: string;
  programs: { ripgrepDirectory: string; path: string };
  agentPort: number;
  proxyEgress: boolean;
  password: string;
}

/** Names every process that descends from the agent, so that what is left of it can be found. */
export function agentMark(sandboxId: string): string {
  return `DORMOUSE_SANDBOX=${sandboxId}`;
}

/**
 * Everything that the agent and its commands find in their environment: built from nothing, so that
 * neither the server's nor the sidecar's own variables get there. The sandbox token is not in it.
 */
export function agentEnvironment(input: AgentEnvironmentInput): Record<string, string> {
  const { layout, sandboxId, programs } = input;
  return {
    PATH: `${programs.ripgrepDirectory}:${programs.path}`,
    HOME: layout.home,
    SHELL: "/bin/bash",
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    TMPDIR: layout.temporary,
    XDG_DATA_HOME: layout.history,
    XDG_CONFIG_HOME: join(layout.home, ".config"),
    XDG_STATE_HOME: join(layout.home, ".local/state"),
    XDG_CACHE_HOME: layout.cache,
    GIT_AUTHOR_NAME: "Dormouse agent",
    GIT_AUTHOR_EMAIL: "agent@dormouse.invalid",
    GIT_COMMITTER_NAME: "Dormouse agent",
    GIT_COMMITTER_EMAIL: "agent@dormouse.invalid",
    OPENCODE_CONFIG: layout.agentConfig,
    OPENCODE_SERVER_PASSWORD: input.password,
    // opencode.json names every model there is: 8,000 more would be gone through once for each session.
    OPENCODE_MODELS_PATH: layout.agentCatalogue,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_SHARE: "1",
    DORMOUSE_SANDBOX: sandboxId,
    DORMOUSE_URL: `http://127.0.0.1:${input.agentPort}`,
    ...(input.proxyEgress ? proxyVariables(input.agentPort) : {}),
  };
}

function proxyVariables(agentPort: number): Record<string, string> {
  const proxy = `http://127.0.0.1:${agentPort}`;
  const direct = "localhost,127.0.0.1,::1";
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: direct,
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: direct,
    npm_config_proxy: proxy,
    npm_config_https_proxy: proxy,
    npm_config_noproxy: direct,
    PIP_PROXY: proxy,
    // Node's own fetch looks at the variables above only when told to.
    NODE_USE_ENV_PROXY: "1",
  };
}
