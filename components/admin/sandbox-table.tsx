"use client";

import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { HomeMachine } from "../sandbox/home-machine.tsx";
import { currentStep, openOperation, stateWords, toProblem, whereWords } from "../sandbox/sandbox-words.ts";
import { SavedTime, UnsavedSince } from "../sandbox/saved-words.tsx";
import { useFollowing } from "../sandbox/use-following.ts";
import type { RequestVerb } from "../sandbox/use-verbs.tsx";
import { StateDot } from "../ui/badge.tsx";
import { Cell, HeadCell, Row, RowActions, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { SandboxMenu } from "./sandbox-menu.tsx";

export function SandboxTable({ sandboxes, request }: { sandboxes: SandboxView[]; request: RequestVerb }) {
  useFollowing(sandboxes.some((sandbox) => openOperation(sandbox) !== null || sandbox.state === "provisioning"));
  return (
    <Table
      label="All sandboxes"
      head={
        <>
          <HeadCell>State</HeadCell>
          <HeadCell>Person</HeadCell>
          <HeadCell className="max-sm:hidden">Runs as</HeadCell>
          <HeadCell className="max-sm:hidden">Machine</HeadCell>
          <HeadCell className="text-right max-sm:hidden">Sessions</HeadCell>
          <HeadCell className="max-sm:hidden">Last used</HeadCell>
          <HeadCell className="max-sm:hidden">Memory saved</HeadCell>
          <HeadCell className="text-right">
            <span className="sr-only">Actions</span>
          </HeadCell>
        </>
      }
    >
      {sandboxes.map((sandbox) => (
        <Row key={sandbox.id}>
          <Cell className="py-1.5">
            <State sandbox={sandbox} />
          </Cell>
          <Cell className="max-w-24 truncate max-sm:py-1.5 sm:max-w-56">
            {sandbox.personName}{" "}
            <span className="text-muted max-sm:block max-sm:truncate max-sm:text-12 sm:ml-1">
              {sandbox.personEmail}
            </span>
          </Cell>
          <Cell className="max-sm:hidden">{whereWords(sandbox)}</Cell>
          <Cell className="py-1.5 max-sm:hidden">
            <HomeMachine home={sandbox.home} />
          </Cell>
          <Cell className="text-right max-sm:hidden">{sandbox.sessionCount}</Cell>
          <Cell className="max-sm:hidden">
            {sandbox.lastActiveAt ? <Time at={sandbox.lastActiveAt} /> : <span className="text-muted">never</span>}
          </Cell>
          <Cell className="py-1.5 max-sm:hidden">
            <SavedTime {...sandbox} />
            {sandbox.unsavedSince && (
              <span className="block w-36 text-12 whitespace-normal text-danger">
                <UnsavedSince {...sandbox} />
              </span>
            )}
          </Cell>
          <Cell>
            <RowActions>
              <SandboxMenu sandbox={sandbox} request={request} />
            </RowActions>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function State({ sandbox }: { sandbox: SandboxView }) {
  const { tone, word } = stateWords(sandbox);
  const open = openOperation(sandbox);
  const problem = toProblem(sandbox);
  // Of a sandbox that does not work the word says so already.
  const title = problem && sandbox.state !== "failed" ? `${problem.title}. ` : "";
  const remark = open ? currentStep(open) : problem ? title + (problem.cause ?? "") : sandbox.cause;
  return (
    <>
      <StateDot tone={tone}>{word}</StateDot>
      {remark && (
        <span className="block w-40 pl-4 text-12 whitespace-normal text-muted [overflow-wrap:anywhere] sm:w-52">
          {remark}
        </span>
      )}
      {sandbox.unsavedSince && (
        <span className="block w-40 pl-4 text-12 whitespace-normal text-danger sm:hidden">
          <UnsavedSince {...sandbox} />
        </span>
      )}
    </>
  );
}
