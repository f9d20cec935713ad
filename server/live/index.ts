export { createLiveStreams, type LiveStreams } from "./live-streams.ts";
