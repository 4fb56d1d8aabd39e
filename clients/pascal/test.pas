{ Checks the unit: test STORE VECTORS. Prints "ok". }
program test;

{$mode objfpc}{$H+}

uses
  cthreads, Classes, SysUtils, snowfence;

type
  TMaker = class(TThread)
  public
    IDs: TSnowfence;
    Made: array[0..19999] of Int64;
    procedure Execute; override;
  end;

  TCall = (Parse, Option, Taken, RingClosed, NextClosed, Zero);

var
  Store: string;
  IDs: TSnowfence;
  Ring: TSnowfenceRing;

procedure Must(OK: Boolean; const What: string);
begin
  if not OK then
    raise Exception.Create(What);
end;

procedure Expect(Status: LongInt; const Text: string; Call: TCall);
begin
  try
    case Call of
      Parse: SnowfenceParse('xyz');
      Zero: SnowfenceParse('1'#0'2');
      Option: TSnowfence.Open('mem:', '', 'leed=1');
      Taken: TSnowfence.OpenStatic(9);
      RingClosed: Ring.Next;
      NextClosed: IDs.Next;
    end;
  except
    on E: ESnowfence do begin
      Must((E.Status = Status) and (Pos(Text, E.Message) > 0), E.Message);
      Exit;
    end;
  end;
  Must(False, 'nothing was raised about ' + Text);
end;

procedure Vectors(const Path: string);
var
  Lines: TStringList;
  Line: string;
  V: TStringArray;
  P: TSnowfenceParts;
  Got: array[0..5] of Int64;
  I: Integer;
begin
  Lines := TStringList.Create;
  Lines.LoadFromFile(Path);
  for Line in Lines do begin
    V := Line.Split([#9]);
    P := SnowfenceDecode(StrToInt64(V[1]), V[0]);
    Got[0] := P.Tick;
    Got[1] := P.Node;
    Got[2] := P.Sequence;
    Got[3] := P.Rollback;
    Got[4] := P.Scatter;
    Got[5] := P.Tag;
    for I := 0 to 5 do
      Must((V[I + 2] = '-') or (V[I + 2] = IntToStr(Got[I])), Line);
  end;
  Must(Lines.Count > 40, 'vectors');
  Lines.Free;
  Must(SnowfenceParse(SnowfenceFormat(Int64(1) shl 62, 'base58'), 'base58') = Int64(1) shl 62, 'base58');
  Expect(4, 'xyz', Parse);
  Expect(4, 'zero', Zero);
  Expect(4, 'leed', Option);
end;

procedure TMaker.Execute;
var
  Own: TSnowfenceRing;
  I: Integer;
begin
  Own := TSnowfenceRing.Create(IDs);
  for I := 0 to High(Made) do
    Made[I] := Own.Next;
  Own.Free;
end;

function CompareIDs(A, B: Pointer): Integer;
begin
  if PtrUInt(A) < PtrUInt(B) then
    Exit(-1);
  Result := Ord(PtrUInt(A) > PtrUInt(B));
end;

procedure Threads;
var
  Makers: array[0..3] of TMaker;
  All: TFPList;
  T, I: Integer;
begin
  for T := 0 to High(Makers) do begin
    Makers[T] := TMaker.Create(True);
    Makers[T].IDs := IDs;
    Makers[T].Start;
  end;
  for T := 0 to High(Makers) do
    Makers[T].WaitFor;
  All := TFPList.Create;
  for T := 0 to High(Makers) do
    for I := 0 to High(Makers[T].Made) do begin
      All.Add(Pointer(Makers[T].Made[I]));
      Must((I = 0) or (Makers[T].Made[I] > Makers[T].Made[I - 1]), 'the IDs of a thread do not increase');
    end;
  All.Sort(@CompareIDs);
  for I := 1 to All.Count - 1 do
    Must(All[I] <> All[I - 1], 'an ID was made twice');
end;

{ Arithmetic of the program raises as before, and that of the library does not. }
procedure Floats;
var
  Null, X: Double;
begin
  Null := StrToFloat('0');
  IDs.Next;
  try
    X := 1 / Null;
  except
    on EZeroDivide do
      Exit;
  end;
  Must(False, '1/0 is ' + FloatToStr(X));
end;

var
  Number: TSnowfence;
  I: Integer;
begin
  Store := ParamStr(1);
  Vectors(ParamStr(2));
  IDs := TSnowfence.Open(Store, '', 'label=pascal,lead=2000');
  Threads;
  Floats;
  Must(IDs.Decode(IDs.Next).Node = IDs.Decode(IDs.Take(3)[2]).Node, 'decode');
  Must(Length(IDs.Take(0)) = 0, 'take');
  Number := TSnowfence.OpenStatic(9);
  Expect(8, '9', Taken);
  Number.Free;
  TSnowfence.OpenStatic(9).Free;
  Ring := TSnowfenceRing.Create(IDs);
  Ring.Next; { so that some are left }
  IDs.Close;
  IDs.Close;
  for I := 1 to 20 do
    Expect(5, 'closed', RingClosed);
  Expect(4, 'NULL', NextClosed);
  IDs.Free;
  WriteLn('ok');
end.
