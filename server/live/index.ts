export { createLiveStreams } from "./live-streams.ts";
