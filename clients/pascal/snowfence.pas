{ 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library.

    ids := TSnowfence.Open('sqlite:/var/lib/shop/ids.db');
    order := ids.Next;
    ids.Free;

  Free Pascal 3.2, on Linux. Threads may share a TSnowfence; a TSnowfenceRing is for one, and takes IDs ahead, so that an
  ID costs a few nanoseconds. }
unit snowfence;

{$mode objfpc}{$H+}
{$linklib snowfence}

interface

uses
  SysUtils;

type
  { What went wrong: what happened, to what, and what to do. Status is a number of snowfence.h. }
  ESnowfence = class(Exception)
  public
    Status: LongInt;
  end;

  { An ID taken apart: Seconds and Nanoseconds are the Unix time of its tick. }
  TSnowfenceParts = record
    Tick, Seconds, Nanoseconds, Node, Sequence, Rollback, Key, Scatter, Tag: Int64;
  end;

  TSnowfenceIDs = array of Int64;

  { Makes IDs. Free gives the node back. }
  TSnowfence = class
  private
    FHandle: QWord;
  public
    { Leases a node from a store; '' is the store of this machine. Options are such as 'lead=2000'. }
    constructor Open(const Store: string; const Namespace: string = ''; const Options: string = '');
    { Makes IDs of one node, whose use a file remembers over restarts. }
    constructor OpenStateFile(const Path: string; Node: Int64; const Layout: string = ''; const Options: string = '');
    { Makes IDs of a bare number. It is safe inside this process only. }
    constructor OpenStatic(Node: Int64; const Layout: string = ''; const Options: string = '');
    destructor Destroy; override;
    { Gives the node back, and raises if the store did not answer. A second call does nothing. }
    procedure Close;
    function Next: Int64;
    { Makes N IDs. Those with the same bits above the time increase. }
    function Take(N: SizeInt): TSnowfenceIDs;
    { Takes an ID apart, with the layout and the secrets of this generator. }
    function Decode(ID: Int64): TSnowfenceParts;
  end;

  { IDs taken ahead for one thread. They increase, with the same bits above the time. They are dropped after 100 ms and when the lease was lost. }
  TSnowfenceRing = class
  private
    FHandle: QWord;
    FMemory: array[1..1031] of QWord; { SNOWFENCE_RING_WORDS }
  public
    constructor Create(IDs: TSnowfence);
    function Next: Int64;
  end;

{ Takes an ID apart; '' is the default layout. }
function SnowfenceDecode(ID: Int64; const Layout: string = ''): TSnowfenceParts;
{ Writes an ID as text, such as 'base58'; '' is decimal. }
function SnowfenceFormat(ID: Int64; const Encoding: string = ''): string;
{ Reads the text of an ID. }
function SnowfenceParse(const Text: string; const Encoding: string = ''): Int64;

implementation

uses
  Math;

function snowfence_abi_version: LongInt; cdecl; external;
function snowfence_last_error(Buf: PChar; Size: SizeUInt): SizeUInt; cdecl; external;
function snowfence_open(Store, NS, Options: PChar; out IDs: QWord): LongInt; cdecl; external;
function snowfence_open_statefile(Path, Layout: PChar; Node: Int64; Options: PChar; out IDs: QWord): LongInt; cdecl;
  external;
function snowfence_open_static(Layout: PChar; Node: Int64; Options: PChar; out IDs: QWord): LongInt; cdecl; external;
function snowfence_next(IDs: QWord; out ID: Int64): LongInt; cdecl; external;
function snowfence_fill(IDs: QWord; Buf: PInt64; N: SizeUInt; Made: PSizeUInt): LongInt; cdecl; external;
function snowfence_ring_take(Ring: PQWord; IDs: QWord; out ID: Int64): LongInt; cdecl; external;
function snowfence_ring_refill(Ring: PQWord; IDs: QWord; out ID: Int64): LongInt; cdecl; external;
function snowfence_close(IDs: QWord): LongInt; cdecl; external;
function snowfence_decode(Layout: PChar; ID: Int64; out Parts: TSnowfenceParts): LongInt; cdecl; external;
function snowfence_decode_own(IDs: QWord; ID: Int64; out Parts: TSnowfenceParts): LongInt; cdecl; external;
function snowfence_format(ID: Int64; Encoding: PChar; Buf: PChar; Size: SizeUInt; Length: PSizeUInt): LongInt; cdecl;
  external;
function snowfence_parse(Text, Encoding: PChar; out ID: Int64): LongInt; cdecl; external;

{ Pascal raises an exception where arithmetic gives no number; the library and its threads expect none. }
threadvar
  Old: TFPUExceptionMask;

procedure Quiet;
begin
  Old := SetExceptionMask([exInvalidOp, exDenormalized, exZeroDivide, exOverflow, exUnderflow, exPrecision]);
end;

procedure Fail(Status: LongInt; const Text: string);
var
  E: ESnowfence;
begin
  E := ESnowfence.Create(Text);
  E.Status := Status;
  raise E;
end;

procedure Check(Status: LongInt);
var
  Text: array[0..1023] of Char;
begin
  SetExceptionMask(Old);
  if Status = 0 then
    Exit;
  snowfence_last_error(@Text[0], SizeOf(Text));
  Fail(Status, StrPas(@Text[0]));
end;

{ A text of C; '' is NULL. }
function Pointed(const Text: string): PChar;
begin
  if Pos(#0, Text) > 0 then
    Fail(4, 'a text has a zero byte');
  if Text = '' then
    Result := nil
  else
    Result := PChar(Text);
end;

constructor TSnowfence.Open(const Store, Namespace, Options: string);
var
  S, N, O: PChar;
begin
  S := Pointed(Store);
  N := Pointed(Namespace);
  O := Pointed(Options);
  Quiet;
  Check(snowfence_open(S, N, O, FHandle));
end;

constructor TSnowfence.OpenStateFile(const Path: string; Node: Int64; const Layout, Options: string);
var
  P, L, O: PChar;
begin
  P := Pointed(Path);
  L := Pointed(Layout);
  O := Pointed(Options);
  Quiet;
  Check(snowfence_open_statefile(P, L, Node, O, FHandle));
end;

constructor TSnowfence.OpenStatic(Node: Int64; const Layout, Options: string);
var
  L, O: PChar;
begin
  L := Pointed(Layout);
  O := Pointed(Options);
  Quiet;
  Check(snowfence_open_static(L, Node, O, FHandle));
end;

destructor TSnowfence.Destroy;
begin
  try
    Close;
  except
    on ESnowfence do
      ; { the node is free when its lease ends: Close tells }
  end;
  inherited;
end;

procedure TSnowfence.Close;
var
  Handle: QWord;
begin
  Handle := FHandle;
  FHandle := 0;
  if Handle <> 0 then begin
    Quiet;
    Check(snowfence_close(Handle));
  end;
end;

function TSnowfence.Next: Int64;
begin
  Quiet;
  Check(snowfence_next(FHandle, Result));
end;

function TSnowfence.Take(N: SizeInt): TSnowfenceIDs;
begin
  Result := nil;
  SetLength(Result, N);
  if N > 0 then begin
    Quiet;
    Check(snowfence_fill(FHandle, @Result[0], N, nil));
  end;
end;

function TSnowfence.Decode(ID: Int64): TSnowfenceParts;
begin
  Quiet;
  Check(snowfence_decode_own(FHandle, ID, Result));
end;

constructor TSnowfenceRing.Create(IDs: TSnowfence);
begin
  FHandle := IDs.FHandle;
end;

function TSnowfenceRing.Next: Int64;
begin
  if snowfence_ring_take(@FMemory[1], FHandle, Result) <> 0 then
    Exit;
  Quiet;
  Check(snowfence_ring_refill(@FMemory[1], FHandle, Result));
end;

function SnowfenceDecode(ID: Int64; const Layout: string): TSnowfenceParts;
var
  L: PChar;
begin
  L := Pointed(Layout);
  Quiet;
  Check(snowfence_decode(L, ID, Result));
end;

function SnowfenceFormat(ID: Int64; const Encoding: string): string;
var
  Text: array[0..79] of Char;
  E: PChar;
begin
  E := Pointed(Encoding);
  Quiet;
  Check(snowfence_format(ID, E, @Text[0], SizeOf(Text), nil));
  Result := StrPas(@Text[0]);
end;

function SnowfenceParse(const Text, Encoding: string): Int64;
var
  T, E: PChar;
begin
  T := Pointed(Text);
  E := Pointed(Encoding);
  Quiet;
  Check(snowfence_parse(T, E, Result));
end;

initialization
  if snowfence_abi_version() <> 1 then
    Fail(9, 'libsnowfence has another ABI version than this unit, which is for 1');
end.
